"""Read FASTA into one-hot batches with seqloom, and with other readers and NumPy."""

import gzip
import hashlib
import tempfile
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from io import TextIOWrapper
from itertools import islice
from pathlib import Path
from statistics import median
from typing import TextIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmarks._measure import time_alternately
from benchmarks._page import describe_machine, markdown_table, publish_section
from benchmarks.fastx import (
    LOWER_BOUND_LABELS,
    build_lower_bound_program,
    measure_lower_bounds,
)
from seqloom._threads import limit_blas
from seqloom.encode import OneHot
from seqloom.io import open_sequences

Batches: TypeAlias = Iterator[NDArray[np.float32]]

RECORDS, LETTERS, LINE = 40_000, 1_000, 60
BATCH_RECORDS = 256
ROUNDS = 7
DECOMPRESSION_LABEL = LOWER_BOUND_LABELS["unpack"]
LOWER_BOUND_LABEL = "floor: unpacking, and writing as many numbers"
NOTES = f"""
The file is in the page cache and has {RECORDS:,} random records of {LETTERS:,} bases in
lines of {LINE}. All libraries write equal float32 batches of {BATCH_RECORDS} into one
reused buffer. The other readers encode with four NumPy comparisons per batch, the fastest
method that we found.
"""
TABLE_COLUMNS = (
    "bases/s, one thread",
    "plain",
    "gzip",
    "relative to seqloom, plain",
    "gzip",
)


def main() -> None:
    """Create a file, check that all loaders return equal batches, then time them."""
    with tempfile.TemporaryDirectory() as folder, limit_blas(1):
        plain, packed = _write_fasta(Path(folder))
        program = build_lower_bound_program()
        seconds = [_time_readers(path, program) for path in (plain, packed)]
    text = markdown_table(TABLE_COLUMNS, _table_rows(*seconds))
    text += f"\n\n{describe_machine('numpy', *INSTALLED_READERS, 'seqloom')}"
    publish_section("read_fasta", text, notes=NOTES)


def _seqloom_batches(path: str) -> Batches:
    """Yield batches of seqloom, with one encoder call per batch."""
    encoder, out = OneHot("dna"), np.empty((BATCH_RECORDS, 4, LETTERS), np.float32)
    with open_sequences(path) as reader:
        for batch in reader.batches(BATCH_RECORDS):
            rows = out[: len(batch)]
            yield encoder.batch(batch.sequences, length=LETTERS, out=rows, num_threads=1)


def _read_with_biopython(path: str) -> Iterable[bytes]:
    """Yield sequences of the fastest parser of Biopython."""
    parse = import_module("Bio.SeqIO.FastaIO").SimpleFastaParser
    with _open_text(path) as file:
        yield from (letters.encode() for _, letters in parse(file))


def _read_with_dnaio(path: str) -> Iterable[bytes]:
    """Yield sequences of dnaio, the parser of cutadapt, without its thread."""
    with import_module("dnaio").open(path, open_threads=0) as file:
        yield from (record.sequence.encode() for record in file)


def _read_with_pyfastx(path: str) -> Iterable[bytes]:
    """Yield sequences of pyfastx, a parser in C, without its index."""
    fastx = import_module("pyfastx").Fastx
    yield from (letters.encode() for _, letters in fastx(path))


def _open_text(path: str) -> TextIO:
    """Open an uncompressed or gzip file as text."""
    packed = path.endswith(".gz")
    return TextIOWrapper(gzip.open(path)) if packed else Path(path).open(encoding="ascii")


READERS: dict[str, Callable[[str], Iterable[bytes]]] = {
    "biopython": _read_with_biopython,
    "dnaio": _read_with_dnaio,
    "pyfastx": _read_with_pyfastx,
}
# A reader that is not installed is not measured.
INSTALLED_READERS = [
    name for name in READERS if find_spec("Bio" if name == "biopython" else name)
]


def _reader_batches(reader: Callable[[str], Iterable[bytes]], path: str) -> Batches:
    """Yield batches of another reader, with the fastest one-hot encoding found in NumPy."""
    records, out = iter(reader(path)), np.empty((BATCH_RECORDS, 4, LETTERS), np.float32)
    while part := list(islice(records, BATCH_RECORDS)):
        letters = np.frombuffer(b"".join(part), np.uint8).reshape(-1, LETTERS)
        upper, rows = letters & 0xDF, out[: len(part)]
        for channel, letter in enumerate(b"ACGT"):
            np.equal(upper, letter, out=rows[:, channel])
        yield rows


BATCHES_OF_LIBRARY: dict[str, Callable[[str], Batches]] = {
    "seqloom": _seqloom_batches,
    **{name: partial(_reader_batches, READERS[name]) for name in INSTALLED_READERS},
}


def _write_fasta(folder: Path) -> tuple[str, str]:
    """Write random records in lines, plain and with gzip."""
    rng = np.random.default_rng(0)
    letters = np.frombuffer(b"ACGT", np.uint8)[rng.integers(0, 4, (RECORDS, LETTERS))]
    plain = folder / "random.fa"
    with plain.open("wb") as file:
        file.writelines(
            _format_record(number, row.tobytes()) for number, row in enumerate(letters)
        )
    packed = folder / "random.fa.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes(), 6))
    return str(plain), str(packed)


def _format_record(number: int, letters: bytes) -> bytes:
    """Write one record."""
    lines = [letters[start : start + LINE] for start in range(0, len(letters), LINE)]
    return b"\n".join([b">r%d" % number, *lines, b""])


def _time_readers(path: str, program: Path) -> dict[str, float]:
    """Return the median seconds of each reader, and the lower bound, for one file."""
    assert (
        len({_hash_batches(batches(path)) for batches in BATCHES_OF_LIBRARY.values()}) == 1
    ), "not the same"
    works: dict[str, Callable[[], None]] = {
        name: partial(_exhaust_batches, batches, path)
        for name, batches in BATCHES_OF_LIBRARY.items()
    }
    works[LOWER_BOUND_LABEL] = _fill_array
    times = {
        name: median(each) for name, each in time_alternately(works, rounds=ROUNDS).items()
    }
    unpacking = [
        measure_lower_bounds(program, Path(path))[DECOMPRESSION_LABEL]
        for _ in range(ROUNDS)
    ]
    times[LOWER_BOUND_LABEL] += median(unpacking)
    return times


def _fill_array() -> None:
    """Write as many numbers as all batches have into one array."""
    out = np.empty((BATCH_RECORDS, 4, LETTERS), np.float32)
    for _ in range(-(-RECORDS // BATCH_RECORDS)):
        out.fill(1)


def _hash_batches(batches: Batches) -> str:
    """Return a hash of all batches."""
    digest = hashlib.blake2b()
    for batch in batches:
        digest.update(batch.tobytes())
    return digest.hexdigest()


def _exhaust_batches(batches: Callable[[str], Batches], path: str) -> None:
    """Iterate over all batches without keeping them."""
    for _ in batches(path):
        pass


def _table_rows(
    plain: dict[str, float], packed: dict[str, float]
) -> list[tuple[object, ...]]:
    """Return a table row for each reader: speed on both files, ratio to seqloom."""
    letters = RECORDS * LETTERS / 1e6
    speeds = {name: (letters / plain[name], letters / packed[name]) for name in plain}
    ours = speeds["seqloom"]
    return [
        (name, *(f"{each:.0f} M" for each in pair), *_time_ratio(ours, pair))
        for name, pair in speeds.items()
    ]


def _time_ratio(ours: tuple[float, float], theirs: tuple[float, float]) -> list[str]:
    """Return the time of seqloom divided by the time of another reader."""
    return [f"{other / own:.2f}" for own, other in zip(ours, theirs, strict=True)]
