"""Deciding: the office's thresholds on results, and the verdict with its reasons."""
