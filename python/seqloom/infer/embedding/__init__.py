"""Compute the embeddings of all records in files, and write them in numbered shards.

`Settings` contains the arguments of `embed`, including the `Part` of the shards to compute.
`begin_plan` writes ``plan.json``, which lists the records of each shard. A `Job` computes
the unpublished shards of its part in three threads. The first thread reads packed
batches. The second thread runs the model (`Embedder`) and reduces its output
(`reduce_batch`). The third thread joins the rows of windows to records (`ShardRows`)
and writes shards and their marker files to the `OutputFolder` (`publish`). `_processes`
starts a job for each device, locally or on a Ray cluster.
"""
