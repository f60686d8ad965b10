"""Functions that turn items into a batch: stacked, padded or packed."""
