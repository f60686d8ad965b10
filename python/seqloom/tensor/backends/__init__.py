"""Backends: a file or folder for each array library."""
