"""The task families: their rows, their reading of answers, their scores."""
