"""Embeddings of whole files, computed from packed batches and written in numbered shards.

`Settings` contains the arguments of `embed`, including the `Part` of the shards to compute.
`begin_plan` writes ``plan.json``, which lists the records of each shard. A `Job` computes
the unpublished shards of its part in three threads. One thread reads packed batches. One
thread runs the model (`Embedder`) and reduces its output (`reduce_batch`). One thread joins
windows to records (`ShardRows`) and publishes shards with their markers (`publish`) in the
`OutputFolder`. `_processes` starts a job for each device, locally or on a Ray cluster.
"""
