"""The report: what was done to a file and what was decided, for those who must sign."""
