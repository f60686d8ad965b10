"""Measure where a loop spends its time, and the utilization of GPUs."""
