"""Risk of microdata."""
