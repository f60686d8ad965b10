"""Replacements for other packages: change the import, and keep the rest of your code."""
