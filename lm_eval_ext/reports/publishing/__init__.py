"""Results in the formats of sites that collect them. Nothing is uploaded."""
