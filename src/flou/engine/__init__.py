"""What every stage uses: the contract, the key table, secrets, plans, and the engines."""
