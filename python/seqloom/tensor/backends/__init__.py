"""The backends: one file for each array library."""
