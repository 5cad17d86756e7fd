"""Two runs compared, and the release gate."""
