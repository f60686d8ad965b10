"""Functions that turn items into a batch by stacking, padding or packing."""
