"""What an intruder can compute of the suppressed cells of a table."""
