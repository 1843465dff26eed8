"""Attacks on tables."""
