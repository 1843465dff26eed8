"""What a run keeps while it works, so that the next one can go on from it."""
