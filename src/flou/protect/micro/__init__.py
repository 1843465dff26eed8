"""Protections of microdata."""
