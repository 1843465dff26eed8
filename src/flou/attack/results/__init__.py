"""What attacks answer: records found, cells with bounds, rates of right guesses. One class and one chart each."""
