"""What protects tables."""
