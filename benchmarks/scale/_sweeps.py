"""The measured operations, the input sizes that grow, and the compared libraries."""

import os
from typing import NamedTuple

from benchmarks._measure import full_or_quick

LOWER_BOUND = "floor"
# Operation -> libraries: seqloom first, the lower bound ("floor") last.
LIBRARIES_OF_OPERATION = {
    "parse": ("seqloom", "dnaio, one thread", "pyfastx", "biopython", LOWER_BOUND),
    "encode": ("seqloom", "NumPy", LOWER_BOUND),
    "load": ("seqloom", "DataLoader over dnaio", "NumPy loop over dnaio", LOWER_BOUND),
    "train step": ("seqloom", "torch eager", LOWER_BOUND),
    ".bed read": ("seqloom", "bed_reader", LOWER_BOUND),
    "predict": ("seqloom", "torch over dnaio", LOWER_BOUND),
}
UNIT_OF_AXIS = {
    "records": "records",
    "length": "letters in a record",
    "variants": "variants",
    "parameters": "parameters",
    "threads": "threads",
}


class InputSizes(NamedTuple):
    """Sizes of the input; a sweep varies one size."""

    records: int = 1_000
    length: int = 100
    variants: int = 1_000
    parameters: int = 1_000_000
    threads: int = 1


class Sweep(NamedTuple):
    """An operation that is measured with inputs of growing size.

    Args:
        operation: Name of the operation, a key of `LIBRARIES_OF_OPERATION`.
        axis: The field of `InputSizes` that grows.
        values: Values of the growing field, in ascending order.
        rest: Values of the fields that do not grow.
        suffix: Suffix of the input file; "" if the operation reads none.
    """

    operation: str
    axis: str
    values: tuple[int, ...]
    rest: InputSizes = InputSizes()
    suffix: str = ""

    @property
    def name(self) -> str:
        """Title in the table and the plot."""
        return f"{self.operation} by {self.axis}"

    @property
    def input_sizes(self) -> list[InputSizes]:
        """Sizes of each measurement, in ascending order."""
        return [self.rest._replace(**{self.axis: value}) for value in self.values]


def _decade_sizes(first: int) -> tuple[int, ...]:
    """Return `first` and its multiples by 10, 100 and 1,000; fewer in a quick run."""
    return tuple(first * 10**power for power in range(full_or_quick(4, 3)))


def _thread_counts() -> tuple[int, ...]:
    """Return the powers of two up to the number of CPU cores."""
    return tuple(1 << power for power in range((os.cpu_count() or 1).bit_length()))


# Each operation and each field of `InputSizes` occurs at least once.
SWEEPS = (
    Sweep("parse", "records", _decade_sizes(1_000), InputSizes(length=150), ".fastq"),
    Sweep("parse", "length", _decade_sizes(100), suffix=".fasta"),
    Sweep("encode", "length", _decade_sizes(100), InputSizes(records=64)),
    Sweep("load", "records", _decade_sizes(1_000), InputSizes(length=150), ".fastq"),
    Sweep("train step", "parameters", _decade_sizes(10_000)),
    Sweep("train step", "threads", _thread_counts()),
    Sweep(".bed read", "variants", _decade_sizes(100), suffix=".bed"),
    Sweep("predict", "records", _decade_sizes(1_000), suffix=".fasta"),
    Sweep("predict", "length", _decade_sizes(100), InputSizes(records=256), ".fasta"),
)
