"""Interval blur: values drawn anew within their class by a regression that knows the classes alone."""
