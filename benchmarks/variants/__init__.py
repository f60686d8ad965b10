"""Benchmarks of variants: reading VCF files, effects on models, and mutation maps."""

from benchmarks.variants._suite import main

__all__ = ["main"]
