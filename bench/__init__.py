"""Timed runs against peers and against the bare engine. `make bench`, or `python -m bench NAME …`."""
