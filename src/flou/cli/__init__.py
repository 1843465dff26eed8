"""The command line, made from the registry; no statistics in here."""
