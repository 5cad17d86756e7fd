"""What the report says of each family."""
