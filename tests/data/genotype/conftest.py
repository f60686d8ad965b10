"""Genotype files written by bed_reader."""

from dataclasses import dataclass
from pathlib import Path

import bed_reader
import numpy as np
import pytest


@dataclass(frozen=True)
class Genotypes:
    """A .bed, and the dosages that bed_reader reads from it."""

    path: Path
    copies: np.ndarray


@pytest.fixture
def write_bed(tmp_path):
    """Return a function that writes random genotypes, a tenth missing, with bed_reader."""

    def write(individuals=10, variants=7, *, name="a", seed=0, major="SNP", **properties):
        rng = np.random.default_rng(seed)
        drawn = rng.choice([0, 1, 2, -127], (individuals, variants), p=[0.3, 0.3, 0.3, 0.1])
        return write_values(drawn.astype(np.int8), name=name, major=major, **properties)

    def write_values(values, *, name="a", major="SNP", **properties):
        path = tmp_path / f"{name}.bed"
        bed_reader.to_bed(path, values, properties=properties, major=major)
        with bed_reader.open_bed(path) as bed:
            return Genotypes(path, bed.read(dtype="float64", order="C"))

    setattr(write, "values", write_values)  # noqa: B010 - a function's attribute
    return write


@pytest.fixture
def cache(tmp_path):
    """A temporary cache folder."""
    return tmp_path / "cache"
