"""Microaggregation: groups of at least k alike records, and what a group shows."""
