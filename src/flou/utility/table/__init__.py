"""What tables lose."""
