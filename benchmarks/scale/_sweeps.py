"""What grows, over which sizes, and who takes part."""

import os
from typing import NamedTuple

from benchmarks._measure import pick

FLOOR = "floor"
# Ours first, then the rivals, then what any program must do at least.
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
    """How large one piece of work is, along every axis that something may grow by."""

    records: int = 1_000
    length: int = 100
    variants: int = 1_000
    parameters: int = 1_000_000
    threads: int = 1


class Sweep(NamedTuple):
    """One operation at growing sizes.

    Args:
        operation: What is done, a name in `SIDES`.
        axis: What grows, a field of `Sizes`.
        values: Its sizes, from the smallest to the largest.
        rest: All other sizes.
        suffix: Of the file that is read; "" where none is.
    """

    operation: str
    axis: str
    values: tuple[int, ...]
    rest: Sizes = Sizes()
    suffix: str = ""

    @property
    def name(self) -> str:
        """Return the words for the table and the picture."""
        return f"{self.operation} by {self.axis}"

    @property
    def points(self) -> list[Sizes]:
        """Return all sizes of the work, from the smallest to the largest."""
        return [self.rest._replace(**{self.axis: value}) for value in self.values]


def _decades(first: int) -> tuple[int, ...]:
    """Three decades from the first size on; two in a quick run."""
    return tuple(first * 10**power for power in range(pick(4, 3)))


def _threads() -> tuple[int, ...]:
    """Powers of two up to the cores of this machine."""
    return tuple(1 << power for power in range((os.cpu_count() or 1).bit_length()))


# Every operation and every axis appears at least once; parse and predict are swept over the
# length of a record, too.
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
