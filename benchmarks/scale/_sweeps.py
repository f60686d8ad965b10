"""Sweeps: the growing axis, its sizes, and the sides."""

import os
from typing import NamedTuple

from benchmarks._measure import pick

FLOOR = "floor"
# seqloom first, then the rivals, then the floor.
SIDES = {
    "parse": ("seqloom", "dnaio, one thread", "pyfastx", "biopython", FLOOR),
    "encode": ("seqloom", "NumPy", FLOOR),
    "load": ("seqloom", "DataLoader over dnaio", "NumPy loop over dnaio", FLOOR),
    "train step": ("seqloom", "torch eager", FLOOR),
    ".bed read": ("seqloom", "bed_reader", FLOOR),
    "predict": ("seqloom", "torch over dnaio", FLOOR),
}
UNITS = {
    "records": "records",
    "length": "letters in a record",
    "variants": "variants",
    "parameters": "parameters",
    "threads": "threads",
}


class Sizes(NamedTuple):
    """Sizes of the work, one per axis that can grow."""

    records: int = 1_000
    length: int = 100
    variants: int = 1_000
    parameters: int = 1_000_000
    threads: int = 1


class Sweep(NamedTuple):
    """One operation at growing sizes.

    Args:
        operation: Name in `SIDES`.
        axis: Growing field of `Sizes`.
        values: Sizes, from the smallest to the largest.
        rest: All other sizes.
        suffix: Suffix of the input file; "" without a file.
    """

    operation: str
    axis: str
    values: tuple[int, ...]
    rest: Sizes = Sizes()
    suffix: str = ""

    @property
    def name(self) -> str:
        """Text for the table and the picture."""
        return f"{self.operation} by {self.axis}"

    @property
    def points(self) -> list[Sizes]:
        """All sizes of the work, from the smallest to the largest."""
        return [self.rest._replace(**{self.axis: value}) for value in self.values]


def _decades(first: int) -> tuple[int, ...]:
    """Return three decades from the first size; two in a quick run."""
    return tuple(first * 10**power for power in range(pick(4, 3)))


def _threads() -> tuple[int, ...]:
    """Return powers of two up to the cores of this machine."""
    return tuple(1 << power for power in range((os.cpu_count() or 1).bit_length()))


# Each operation and each axis occurs at least once; parse and predict are also swept
# over the record length.
SWEEPS = (
    Sweep("parse", "records", _decades(1_000), Sizes(length=150), ".fastq"),
    Sweep("parse", "length", _decades(100), suffix=".fasta"),
    Sweep("encode", "length", _decades(100), Sizes(records=64)),
    Sweep("load", "records", _decades(1_000), Sizes(length=150), ".fastq"),
    Sweep("train step", "parameters", _decades(10_000)),
    Sweep("train step", "threads", _threads()),
    Sweep(".bed read", "variants", _decades(100), suffix=".bed"),
    Sweep("predict", "records", _decades(1_000), suffix=".fasta"),
    Sweep("predict", "length", _decades(100), Sizes(records=256), ".fasta"),
)
