"""Embeddings of whole files: planned in shards, computed packed, published once.

A `Call` holds the arguments. `agree` makes or reads ``plan.json``, which says which records
make which shard. A `Job` knows what is left of the plan, and `Claims` who computes it. The
`Loop` has three threads: one reads packed batches, one runs the model (`Embedder`) and
pools its output (`reduce_batch`), one joins windows to records (`ShardRows`) and publishes
shards with their markers (`encode_shard`, `publish`) in the `OutputFolder`.
"""
