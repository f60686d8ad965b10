"""Streams: files of any size, read once from start to end, in shards."""
