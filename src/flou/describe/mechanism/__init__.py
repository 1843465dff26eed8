"""What a published figure allows: how a true count becomes a published one, with which chances."""
