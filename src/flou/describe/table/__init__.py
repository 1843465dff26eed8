"""Tables: cells, dimensions and margins, and how they are made from records."""
