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

from benchmarks._measure import full_or_quick, read_blocks, time_alternately
from benchmarks.bed import _files, _readers
from benchmarks.bed._files import BedFile
from benchmarks.bed._readers import Side
from benchmarks.bed._whole_files import DTYPES_AND_ORDERS, THREAD_COUNTS, touch_new_memory
from seqloom.data import GenotypeDataset

TABLE_COLUMNS = (
    "read a part of a file, ms",
    "seqloom",
    "bed_reader",
    "all blocks only",
    "first touch only",
    "bed_reader / seqloom",
)
LowerBounds: TypeAlias = Mapping[str, Callable[[], object]]

NO_LOWER_BOUNDS: LowerBounds = MappingProxyType({})
ROUNDS = full_or_quick(7, 3)
RANDOM_SAMPLE_COUNT = 256
CALLS_PER_MEASUREMENT = 50  # Number of calls per measurement if a call reads one variant.


def partial_read_rows(file: BedFile) -> list[Sequence[object]]:
    """Time parts of a file that are read into new memory."""
    subset = _draw_subset(file)
    chosen = [
        (f"random 1,000 x {len(subset[1]):,}", subset, kind, threads)
        for threads in THREAD_COUNTS
        for kind in DTYPES_AND_ORDERS
    ]
    single = [
        ("one variant", np.s_[:, file.shape[1] // 2], ("int8", "F"), 1),
        ("one individual", np.s_[file.shape[0] // 2, :], ("int8", "F"), 1),
    ]
    return [_partial_read_row(file, part) for part in [*chosen, *single]]


def _draw_subset(file: BedFile) -> tuple[Any, ...]:
    """Draw individuals and variants."""
    rng = np.random.default_rng(1)
    sizes = zip(file.shape, (1000, 5000), strict=True)
    return tuple(rng.permutation(count)[:most] for count, most in sizes)


def _partial_read_row(
    file: BedFile, part: tuple[str, Any, tuple[str, str], int]
) -> Sequence[object]:
    """Check that both readers agree, then time both readers and the lower bounds."""
    name, index, (dtype, order), threads = part
    options = {"index": index, "dtype": dtype, "order": order}
    ours = _readers.open_with_seqloom(file, threads, **options)
    theirs = _readers.open_with_bed_reader(file, threads, **options)
    read = ours()
    assert np.array_equal(read, theirs(), equal_nan=True), "the readers disagree"
    title = f"{file}: {name}, {dtype} {order}, {threads} thread{'s' * (threads > 1)}"
    if isinstance(index[0], np.ndarray):
        floors = _lower_bounds(file, read.nbytes)
        return [title, *time_readers(ours, theirs, rounds=ROUNDS, floors=floors)]
    calls = CALLS_PER_MEASUREMENT if isinstance(index[1], int) else 1
    return [
        title,
        *_with_empty_lower_bounds(time_readers(ours, theirs, rounds=ROUNDS, calls=calls)),
    ]


def _lower_bounds(file: BedFile, size: int) -> LowerBounds:
    """Return lower bounds: reading the bytes of the file, and writing to new memory."""
    return {
        "blocks": lambda: read_blocks(file.path),
        "touch": lambda: touch_new_memory(size, 1),
    }


def _with_empty_lower_bounds(figures: Sequence[str]) -> Sequence[str]:
    """Return empty columns instead of lower bounds."""
    *times, ratio = figures
    return [*times, "", "", ratio]


def time_readers(
    ours: Side,
    theirs: Side,
    *,
    rounds: int,
    calls: int = 1,
    floors: LowerBounds = NO_LOWER_BOUNDS,
) -> Sequence[str]:
    """Return the median milliseconds of readers and lower bounds, and the ratio."""
    sides = {
        "ours": _repeat_call(ours, calls),
        "theirs": _repeat_call(theirs, calls),
        **floors,
    }
    seconds = time_alternately(sides, rounds=rounds)
    one, other = (1e3 * median(seconds[name]) / calls for name in ("ours", "theirs"))
    lowest = [f"{1e3 * median(seconds[name]):.3f}" for name in floors]
    return [f"{one:.3f}", f"{other:.3f}", *lowest, f"**{other / one:.1f}**"]


def _repeat_call(work: Callable[[], object], calls: int) -> Callable[[], object]:
    """Return a function that repeats a short call, like a user's loop."""
    return lambda: [work() for _ in range(calls)]


def time_random_samples(file: BedFile) -> tuple[Sequence[object], float]:
    """Time random samples from a transposed copy, and the creation of the copy."""
    with tempfile.TemporaryDirectory(dir=file.path.parent) as cache:
        start = time.perf_counter()
        data = GenotypeDataset(
            file.path, labels=False, impute=None, standardize=None, cache=cache, memory=0
        )
        data.batch([0])
        copied = time.perf_counter() - start
        picks = np.random.default_rng(2).permutation(file.shape[0])[:RANDOM_SAMPLE_COUNT]
        ours = lambda: data.batch(picks)["inputs"]  # noqa: E731
        theirs = _readers.open_with_bed_reader(
            file, 1, index=(picks, slice(None)), order="C"
        )
        assert np.array_equal(ours(), theirs(), equal_nan=True), "the readers disagree"
        name = f"{file}: {RANDOM_SAMPLE_COUNT} random samples, float32, from the copy"
        return [
            name,
            *_with_empty_lower_bounds(time_readers(ours, theirs, rounds=3)),
        ], copied


def seqloom_cases() -> Iterator[tuple[str, Callable[[], Side]]]:
    """Yield reads of whole and partial files for each dtype, order and thread count."""
    with tempfile.TemporaryDirectory() as folder:
        for shape in _files.FILE_SHAPES:
            yield from _cases_of_file(_files.write_bed(Path(folder), shape))


def _cases_of_file(file: BedFile) -> Iterator[tuple[str, Callable[[], Side]]]:
    """Yield the reads of one file; partial reads allocate their result."""
    parts = {
        "whole": np.s_[:, :],
        "random part": _draw_subset(file),
        "one variant": np.s_[:, file.shape[1] // 2],
        "one individual": np.s_[file.shape[0] // 2, :],
    }
    for threads, (dtype, order) in product(THREAD_COUNTS, DTYPES_AND_ORDERS):
        options: dict[str, Any] = {"dtype": dtype, "order": order}
        label = f"{dtype} {order}, {threads}"
        used = partial(_prepare_read_into_reused_array, file, threads, **options)
        yield f"{file}: whole, into used memory, {label}", used
        for name, index in parts.items():
            new = partial(_readers.open_with_seqloom, file, threads, index=index, **options)
            yield f"{file}: {name}, {label}", new


def _prepare_read_into_reused_array(file: BedFile, threads: int, **options: Any) -> Side:
    """Allocate the output array before timing."""
    out = np.zeros(file.shape, **options)
    return _readers.open_with_seqloom(file, threads, out=out, **options)
