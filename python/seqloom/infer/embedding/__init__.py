"""Embeddings of whole files: shards that are planned, computed packed, and published once.

`Settings` holds the arguments of `embed`, the `Part` of the shards among them. `begin_plan`
makes ``plan.json``, which says which records make which shard. A `Job` computes the shards
of its part that are not published: one thread reads packed batches, one runs the model
(`Embedder`) and reduces its output (`reduce_batch`), one joins windows to records
(`ShardRows`) and publishes shards with their markers (`publish`) in the `OutputFolder`.
`_processes` starts a job for each device, here or on a cluster of Ray.
"""
