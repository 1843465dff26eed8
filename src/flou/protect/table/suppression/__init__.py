"""Secondary suppression: which cells to withhold so that sensitive ones cannot be computed from the others."""
