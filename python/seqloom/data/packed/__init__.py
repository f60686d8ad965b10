"""Reads files as packed batches of tokens."""
