"""The task families: their rows, how their answers are read, and their scores."""
