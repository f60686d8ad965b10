"""Samplers: by length, by token budget, by weight."""
