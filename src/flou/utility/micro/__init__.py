"""Comparisons of released microdata with the file that they were made from."""
