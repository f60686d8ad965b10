"""Parts of files: a random subset, one variant, one individual, some samples."""

import tempfile
import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

import numpy as np

from benchmarks._measure import interleave
from benchmarks.bed import _sides
from benchmarks.bed._files import File
from seqloom.data import GenotypeDataset

HEAD = ("part of a file, 1 thread, ms", "seqloom", "bed_reader", "bed_reader / ours")
ROUNDS = 7
SAMPLES = 256
CALLS = 50  # of one variant, in a row


def rows(file: File) -> list[Sequence[object]]:
    """Times parts of a file that are read into new memory."""
    rng = np.random.default_rng(1)
    subset = tuple(
        rng.permutation(n)[:m] for n, m in zip(file.shape, (1000, 5000), strict=True)
    )
    parts: dict[str, tuple[Any, str, str]] = {
        f"random {len(subset[0]):,} x {len(subset[1]):,}, {dtype} {order}": (
            subset,
            dtype,
            order,
        )
        for dtype in ("int8", "float32")
        for order in "FC"
    }
    parts["one variant, int8"] = np.s_[:, file.shape[1] // 2], "int8", "F"
    parts["one individual, int8"] = np.s_[file.shape[0] // 2, :], "int8", "F"
    return [[f"{file}: {name}", *_times(file, part)] for name, part in parts.items()]


def _times(file: File, part: tuple[Any, str, str]) -> Sequence[str]:
    """Checks that both agree, then times them in turn."""
    index, dtype, order = part
    options = {"index": index, "dtype": dtype, "order": order}
    ours = _sides.ours(file, 1, **options)
    theirs = _sides.bed_reader(file, 1, **options)
    assert np.array_equal(ours(), theirs(), equal_nan=True), "the sides do not agree"
    calls = CALLS if isinstance(index[1], int) else 1
    return compared(ours, theirs, rounds=ROUNDS, calls=calls)


def compared(
    ours: Callable[[], object], theirs: Callable[[], object], *, rounds: int, calls: int = 1
) -> Sequence[str]:
    """Gives both medians of a call in milliseconds, and their ratio."""
    sides = {"ours": _repeated(ours, calls), "theirs": _repeated(theirs, calls)}
    seconds = interleave(sides, rounds=rounds)
    one, other = (1e3 * median(seconds[name]) / calls for name in sides)
    return f"{one:.3f}", f"{other:.3f}", f"**{other / one:.1f}**"


def _repeated(work: Callable[[], object], calls: int) -> Callable[[], object]:
    """Does brief work several times, as a loop of a user's does."""
    return lambda: [work() for _ in range(calls)]


def samples(file: File) -> tuple[Sequence[object], float]:
    """Times random samples through the copy, and says what making it took."""
    with tempfile.TemporaryDirectory(dir=file.path.parent) as cache:
        start = time.perf_counter()
        data = GenotypeDataset(
            file.path, phenotype=False, impute=None, standardize=None, cache=cache, memory=0
        )
        data.batch([0])
        copied = time.perf_counter() - start
        picks = np.random.default_rng(2).permutation(file.shape[0])[:SAMPLES]
        ours = lambda: data.batch(picks)["inputs"]  # noqa: E731
        theirs = _sides.bed_reader(file, 1, index=(picks, slice(None)), order="C")
        assert np.array_equal(ours(), theirs(), equal_nan=True), "the sides do not agree"
        name = f"{file}: {SAMPLES} random samples, float32, by the copy"
        return [name, *compared(ours, theirs, rounds=3)], copied
