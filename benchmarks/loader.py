"""Read epochs of one-hot batches from FASTQ with seqloom and the torch DataLoader."""

import gc
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib import import_module
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any, TypeAlias

import numpy as np
from torch.utils.data import DataLoader as TorchLoader

from benchmarks._loader_libraries import (
    BATCH,
    LETTERS,
    DnaioDataset,
    PyfastxDataset,
    fill_batch_arrays,
    numpy_batches,
    read_file_and_fill_arrays,
)
from benchmarks._measure import full_or_quick, time_alternately
from benchmarks._page import describe_machine, markdown_table, publish_section
from seqloom.data import DataLoader, SequenceDataset, SequenceStream
from seqloom.encode import OneHot

Epoch: TypeAlias = Callable[[], object]

READS, FEW = full_or_quick((1_000_000, 100_000), (200_000, 20_000))
READS_PER_CASE = 100_000  # Number of reads in comparisons with an older commit.
ROUNDS = 3
EPOCHS = 10
NOTES = f"""
The file is in the page cache and has random reads of {LETTERS} bases. All programs return
equal float32 batches of shape ({BATCH}, 4, {LETTERS}). seqloom uses two threads, and its
batches also contain ids, files and ordinals. The NumPy loop reuses one array.
"""
TABLE_COLUMNS = ("one epoch", "seconds", "reads/s", "time relative to seqloom")


def main(reads: int = READS, few: int = FEW) -> None:
    """Create a file, check that all loaders return equal batches, then time them."""
    with tempfile.TemporaryDirectory() as folder:
        path = write_reads_file(Path(folder), reads)
        whole = _measure_file_order(path, reads)
        shuffled = _measure_shuffled(path, few)
        growth = _describe_memory_growth(path)
    packages = describe_machine("numpy", "torch", "dnaio", "pyfastx", "seqloom")
    text = f"{whole}\n\n{shuffled}\n\n{growth}\n\n{packages}"
    publish_section("loader", text, notes=NOTES, shown=r"^\| (?!floor)")


def write_reads_file(folder: Path, reads: int) -> str:
    """Write random reads."""
    rng = np.random.default_rng(0)
    path = folder / "reads.fastq"
    with path.open("wb") as file:
        for start in range(0, reads, 50_000):
            count = min(50_000, reads - start)
            letters = np.frombuffer(b"ACGT", np.uint8)[rng.integers(0, 4, (count, LETTERS))]
            quality = (rng.integers(2, 41, (count, LETTERS)) + 33).astype(np.uint8)
            rows = zip(letters, quality, strict=True)
            file.writelines(
                b"@read%d lane=1\n%b\n+\n%b\n" % (start + i, row.tobytes(), score.tobytes())
                for i, (row, score) in enumerate(rows)
            )
    return str(path)


def seqloom_epochs(path: str, **options: Any) -> tuple[Epoch, Epoch, Epoch]:
    """Return functions that read an epoch with seqloom from streams and datasets."""
    encoder = OneHot("dna")
    stream = DataLoader(SequenceStream(path, encoder=encoder), BATCH, **options)
    held = DataLoader(SequenceDataset(path, encoder=encoder), BATCH, **options)

    def open_and_read() -> None:
        exhaust_batches(
            DataLoader(SequenceDataset(path, encoder=encoder), BATCH, **options)
        )

    return partial(exhaust_batches, stream), open_and_read, partial(exhaust_batches, held)


def exhaust_batches(batches: Iterable[Any]) -> None:
    """Iterate over all batches without keeping them."""
    for _ in batches:
        pass


def _measure_file_order(path: str, reads: int) -> str:
    """Time epochs in file order with each loader."""
    stream, open_and_read, held = seqloom_epochs(path, num_workers=2)
    _check_equal_batches(path)
    sides: dict[str, Epoch] = {
        "seqloom, dataset in memory": held,
        "seqloom, open the dataset, one epoch": open_and_read,
        "seqloom, stream": stream,
        "NumPy loop over dnaio": lambda: exhaust_batches(numpy_batches(path)),
        "floor: writing the numbers, one thread": lambda: fill_batch_arrays(reads),
        "floor: and reading the file in blocks": lambda: read_file_and_fill_arrays(
            path, reads
        ),
        "DataLoader over dnaio, 0 workers": _torch_epoch(DnaioDataset(path)),
        "DataLoader over dnaio, 2 workers": _torch_epoch(DnaioDataset(path), num_workers=2),
    }
    warm_up_loaders(sides)
    return _loader_table(sides, reads)


def _torch_epoch(data: Any, **options: Any) -> Epoch:
    """Return an epoch of the torch DataLoader."""
    return partial(exhaust_batches, TorchLoader(data, batch_size=BATCH, **options))


def _measure_shuffled(path: str, few: int) -> str:
    """Time epochs in random order; loaders of other libraries read a smaller file."""
    folder = Path(path).parent / "few"
    folder.mkdir()
    small = write_reads_file(folder, few)
    import_module("pyfastx").Fastq(
        small
    )  # The first access creates the index, which is not timed.
    data = SequenceDataset(small, encoder=OneHot("dna"))
    sides: dict[str, Epoch] = {
        "seqloom, shuffled": partial(
            exhaust_batches, DataLoader(data, BATCH, shuffle=True, num_workers=2)
        ),
        # One object per loader, because workers that share an open file move its
        # position.
        "DataLoader over pyfastx, 0 workers": _torch_epoch(
            PyfastxDataset(small, few), shuffle=True
        ),
        "DataLoader over pyfastx, 2 workers": _torch_epoch(
            PyfastxDataset(small, few), shuffle=True, num_workers=2
        ),
    }
    warm_up_loaders(sides)
    return f"In random order, {few:,} reads:\n\n{_loader_table(sides, few)}"


def warm_up_loaders(sides: dict[str, Epoch]) -> None:
    """Run each loader once before timing, so that its memory is allocated."""
    for epoch in sides.values():
        epoch()


def _check_equal_batches(path: str) -> None:
    """Raise if the loaders return different batches."""
    stream = DataLoader(SequenceStream(path, encoder=OneHot("dna")), BATCH, num_workers=2)
    data = DataLoader(SequenceDataset(path, encoder=OneHot("dna")), BATCH)
    theirs = TorchLoader(DnaioDataset(path), batch_size=BATCH)
    four = zip(stream, data, numpy_batches(path), theirs, strict=True)
    for one, other, third, fourth in islice(four, 20):
        assert np.array_equal(one["inputs"], other["inputs"])
        assert np.array_equal(one["inputs"], third)
        assert np.array_equal(one["inputs"], fourth.numpy())


def _loader_table(sides: dict[str, Epoch], reads: int) -> str:
    """Time all loaders and return the table."""
    rounds = time_alternately(sides, rounds=ROUNDS)
    times = {name: median(seconds) for name, seconds in rounds.items()}
    first = next(iter(times.values()))
    return markdown_table(
        TABLE_COLUMNS, [_loader_row(name, reads, (times[name], first)) for name in times]
    )


def _loader_row(name: str, reads: int, times: tuple[float, float]) -> tuple[object, ...]:
    """Return the table row of a loader, with its time relative to the first loader."""
    seconds, first = times
    speed = f"{reads / seconds / 1e6:.2f} M"
    return name, f"{seconds:.2f}", speed, f"{seconds / first:.1f}"


def _describe_memory_growth(path: str) -> str:
    """Return a sentence on the growth of memory over ten epochs."""
    data = SequenceDataset(path, encoder=OneHot("dna"))
    sizes: list[int] = []
    loader = DataLoader(data, BATCH, shuffle=True, num_workers=2)
    for _ in range(EPOCHS):
        exhaust_batches(loader)
        gc.collect()
        sizes.append(_resident_bytes())
    share = 100 * (sizes[-1] / sizes[1] - 1)
    return (
        f"From the second epoch to the tenth, memory changed by {share:+.1f} % of "
        f"{sizes[1] >> 20} MiB."
    )


def _resident_bytes() -> int:
    """Return the resident memory of this process in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def seqloom_cases() -> Iterator[tuple[str, Callable[[], Epoch]]]:
    """Yield functions that read an epoch with one and with two workers."""
    names = ("stream", "dataset, opened", "dataset, held")
    with tempfile.TemporaryDirectory() as folder:
        path = write_reads_file(Path(folder), READS_PER_CASE)
        for workers in (1, 2):
            for number, name in enumerate(names):
                yield f"{name}, {workers}", partial(_prepare_epoch, path, number, workers)
            yield (
                f"dataset, shuffled, {workers}",
                partial(_prepare_shuffled_epoch, path, workers),
            )


def _prepare_epoch(path: str, number: int, workers: int) -> Epoch:
    return seqloom_epochs(path, num_workers=workers)[number]


def _prepare_shuffled_epoch(path: str, workers: int) -> Epoch:
    data = SequenceDataset(path, encoder=OneHot("dna"))
    return partial(
        exhaust_batches, DataLoader(data, BATCH, shuffle=True, num_workers=workers)
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
