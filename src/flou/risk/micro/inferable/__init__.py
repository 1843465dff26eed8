"""What was hidden and can still be read off the columns that are released."""
