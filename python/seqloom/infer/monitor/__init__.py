"""Use of time in a loop, with the utilization of GPUs."""
