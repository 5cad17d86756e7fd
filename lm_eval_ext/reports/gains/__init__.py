"""What one encoding of Natural Instructions gains over another, computed from results files."""
