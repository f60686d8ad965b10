"""From a dataset to batches: the order, the threads and processes, and going on."""
