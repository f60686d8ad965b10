"""Streams, which read files of any size from start to end, in shards."""
