"""Reads intervals, and the sequences of a genome at intervals."""
