"""Risk of tables."""
