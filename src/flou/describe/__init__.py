"""What the data are: roles, hierarchies, the space of possible keys, and the frame they describe."""
