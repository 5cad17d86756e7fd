"""What an encoding of Natural Instructions gains over another, out of result files alone."""
