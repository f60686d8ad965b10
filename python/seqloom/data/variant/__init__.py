"""Compares variants with a genome, and returns the sequences around them."""
