"""Where the time of a loop goes, and what the GPUs do meanwhile."""
