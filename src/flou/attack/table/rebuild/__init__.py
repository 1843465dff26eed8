"""What published tables tell of the people in them: constraints, solutions, chances and proofs."""
