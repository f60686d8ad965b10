"""Read parts of files: a random subset, one variant, one individual, some samples."""

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from statistics import median
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from benchmarks._measure import interleave, pick, read_blocks
from benchmarks.bed import _files, _sides
from benchmarks.bed._files import File
from benchmarks.bed._sides import Side
from benchmarks.bed._whole import KINDS, THREADS, touch
from seqloom.data import GenotypeDataset

HEAD = (
    "part of a file, ms",
    "seqloom",
    "bed_reader",
    "all blocks only",
    "first touch only",
    "bed_reader / seqloom",
)
Floors: TypeAlias = Mapping[str, Callable[[], object]]

NO_FLOORS: Floors = MappingProxyType({})
ROUNDS = pick(7, 3)
SAMPLES = 256
CALLS = 50  # Number of calls per measurement if a call reads one variant.


def rows(file: File) -> list[Sequence[object]]:
    """Time parts of a file that are read into new memory."""
    subset = _subset(file)
    chosen = [
        (f"random 1,000 x {len(subset[1]):,}", subset, kind, threads)
        for threads in THREADS
        for kind in KINDS
    ]
    single = [
        ("one variant", np.s_[:, file.shape[1] // 2], ("int8", "F"), 1),
        ("one individual", np.s_[file.shape[0] // 2, :], ("int8", "F"), 1),
    ]
    return [_row(file, part) for part in [*chosen, *single]]


def _subset(file: File) -> tuple[Any, ...]:
    """Draw individuals and variants."""
    rng = np.random.default_rng(1)
    sizes = zip(file.shape, (1000, 5000), strict=True)
    return tuple(rng.permutation(count)[:most] for count, most in sizes)


def _row(file: File, part: tuple[str, Any, tuple[str, str], int]) -> Sequence[object]:
    """Check that both readers agree, then time both readers and the lower bounds."""
    name, index, (dtype, order), threads = part
    options = {"index": index, "dtype": dtype, "order": order}
    ours = _sides.seqloom(file, threads, **options)
    theirs = _sides.bed_reader(file, threads, **options)
    read = ours()
    assert np.array_equal(read, theirs(), equal_nan=True), "the sides do not agree"
    title = f"{file}: {name}, {dtype} {order}, {threads} thread{'s' * (threads > 1)}"
    if isinstance(index[0], np.ndarray):
        floors = _floors(file, read.nbytes)
        return [title, *compared(ours, theirs, rounds=ROUNDS, floors=floors)]
    calls = CALLS if isinstance(index[1], int) else 1
    return [title, *_without_floors(compared(ours, theirs, rounds=ROUNDS, calls=calls))]


def _floors(file: File, size: int) -> Floors:
    """Return lower bounds: reading the bytes of the file, and writing to new memory."""
    return {"blocks": lambda: read_blocks(file.path), "touch": lambda: touch(size, 1)}


def _without_floors(figures: Sequence[str]) -> Sequence[str]:
    """Return empty columns instead of lower bounds."""
    *times, ratio = figures
    return [*times, "", "", ratio]


def compared(
    ours: Side, theirs: Side, *, rounds: int, calls: int = 1, floors: Floors = NO_FLOORS
) -> Sequence[str]:
    """Return the median milliseconds of readers and lower bounds, and the ratio."""
    sides = {"ours": _repeated(ours, calls), "theirs": _repeated(theirs, calls), **floors}
    seconds = interleave(sides, rounds=rounds)
    one, other = (1e3 * median(seconds[name]) / calls for name in ("ours", "theirs"))
    lowest = [f"{1e3 * median(seconds[name]):.3f}" for name in floors]
    return [f"{one:.3f}", f"{other:.3f}", *lowest, f"**{other / one:.1f}**"]


def _repeated(work: Callable[[], object], calls: int) -> Callable[[], object]:
    """Return a function that repeats a short call, like a user's loop."""
    return lambda: [work() for _ in range(calls)]


def samples(file: File) -> tuple[Sequence[object], float]:
    """Time random samples from a transposed copy, and the creation of the copy."""
    with tempfile.TemporaryDirectory(dir=file.path.parent) as cache:
        start = time.perf_counter()
        data = GenotypeDataset(
            file.path, labels=False, impute=None, standardize=None, cache=cache, memory=0
        )
        data.batch([0])
        copied = time.perf_counter() - start
        picks = np.random.default_rng(2).permutation(file.shape[0])[:SAMPLES]
        ours = lambda: data.batch(picks)["inputs"]  # noqa: E731
        theirs = _sides.bed_reader(file, 1, index=(picks, slice(None)), order="C")
        assert np.array_equal(ours(), theirs(), equal_nan=True), "the sides do not agree"
        name = f"{file}: {SAMPLES} random samples, float32, by the copy"
        return [name, *_without_floors(compared(ours, theirs, rounds=3))], copied


def own_cases() -> Iterator[tuple[str, Callable[[], Side]]]:
    """Yield reads of whole and partial files for each dtype, order and thread count."""
    with tempfile.TemporaryDirectory() as folder:
        for shape in _files.SHAPES:
            yield from _own_cases(_files.write(Path(folder), shape))


def _own_cases(file: File) -> Iterator[tuple[str, Callable[[], Side]]]:
    """Yield the reads of one file; partial reads allocate their result."""
    parts = {
        "whole": np.s_[:, :],
        "random part": _subset(file),
        "one variant": np.s_[:, file.shape[1] // 2],
        "one individual": np.s_[file.shape[0] // 2, :],
    }
    for threads, (dtype, order) in product(THREADS, KINDS):
        options: dict[str, Any] = {"dtype": dtype, "order": order}
        label = f"{dtype} {order}, {threads}"
        used = partial(_prepare_used, file, threads, **options)
        yield f"{file}: whole, into used memory, {label}", used
        for name, index in parts.items():
            new = partial(_sides.seqloom, file, threads, index=index, **options)
            yield f"{file}: {name}, {label}", new


def _prepare_used(file: File, threads: int, **options: Any) -> Side:
    """Allocate the output array before timing."""
    out = np.zeros(file.shape, **options)
    return _sides.seqloom(file, threads, out=out, **options)
