"""Embeddings of whole files: planned in shards, computed packed, published once."""
