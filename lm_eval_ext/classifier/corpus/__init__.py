"""What an adapter learns from: generated responses, and how they and the user's rows are divided and described."""
