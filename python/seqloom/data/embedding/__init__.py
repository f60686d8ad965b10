"""Embeddings of records as a dataset."""
