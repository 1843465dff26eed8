"""What Flou reads: one module a kind of source, and `scan`, which opens any of them."""
