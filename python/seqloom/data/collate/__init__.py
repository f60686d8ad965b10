"""From items to one batch: stacked, padded or packed."""
