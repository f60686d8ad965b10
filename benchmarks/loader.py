"""From a FASTQ file to one-hot batches, whole epochs: ours beside PyTorch's loader."""

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
import torch
from numpy.typing import NDArray
from torch.utils.data import DataLoader as TorchLoader, Dataset, IterableDataset

from benchmarks._measure import interleave
from benchmarks._page import machine, publish, table
from seqloom.data import DataLoader, SequenceDataset, SequenceStream
from seqloom.encode import OneHot

Batch: TypeAlias = NDArray[np.float32]
Epoch: TypeAlias = Callable[[], object]

READS, LETTERS, BATCH = 1_000_000, 150, 512
FEW = 100_000
# As many batches as ours has made, or is making, at a time.
IN_FLIGHT = 6
BLOCK = 1 << 18
ROUNDS = 3
EPOCHS = 10
HEAD = ("one epoch", "seconds", "reads a second", "its time / ours")
# What each letter looks like, for whoever encodes read by read.
CODES = np.zeros((256, 4), np.float32)
CODES[[*b"ACGT"], range(4)] = 1


def main(reads: int = READS, few: int = FEW) -> None:
    """Makes a file, checks that all sides give the same, then times them."""
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder), reads)
        whole = _whole(path, reads)
        shuffled = _shuffled(path, few)
        growth = _growth(path)
    publish("loader", f"{whole}\n\n{shuffled}\n\n{growth}\n\n{_notes()}")


def write(folder: Path, reads: int) -> str:
    """Writes random reads."""
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


class Records(IterableDataset[Any]):
    """dnaio's records, one-hot, as a PyTorch user writes it; workers take turns."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __iter__(self) -> Iterator[Any]:
        info: Any = torch.utils.data.get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        with import_module("dnaio").open(self.path, open_threads=0) as file:
            for record in islice(file, first, None, step):
                yield one_hot(record.sequence)


class Indexed(Dataset[Any]):
    """pyfastx's random access, one-hot."""

    def __init__(self, path: str, count: int) -> None:
        self.path, self.count = path, count
        self._file: Any = None

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        if self._file is None:
            self._file = import_module("pyfastx").Fastq(self.path)
        return one_hot(self._file[index].seq)


def one_hot(letters: str) -> Any:
    """Encodes one read by a table."""
    return torch.from_numpy(CODES[np.frombuffer(letters.encode(), np.uint8)].T)


def loop(path: str) -> Iterator[Batch]:
    """The quickest loop that was found: dnaio, one join and four comparisons a batch."""
    out = np.empty((BATCH, 4, LETTERS), np.float32)
    with import_module("dnaio").open(path, open_threads=0) as file:
        while part := [record.sequence for record in islice(file, BATCH)]:
            letters = np.frombuffer("".join(part).encode(), np.uint8).reshape(-1, LETTERS)
            rows = out[: len(part)]
            for channel, letter in enumerate(b"ACGT"):
                np.equal(letters, letter, out=rows[:, channel])
            yield rows


def fill(reads: int) -> None:
    """Writes as many numbers as an epoch has, into arrays that are used again."""
    arrays = [np.empty((BATCH, 4, LETTERS), np.float32) for _ in range(IN_FLIGHT)]
    for number in range(-(-reads // BATCH)):
        arrays[number % IN_FLIGHT].fill(1)


def _read_and_fill(path: str, reads: int) -> None:
    """Reads the file into one block again and again, and writes as many numbers."""
    block = bytearray(BLOCK)
    with Path(path).open("rb", buffering=0) as file:
        while file.readinto(block):
            pass
    fill(reads)


def ours(path: str, **options: Any) -> tuple[Epoch, Epoch, Epoch]:
    """Our loader over a file that is read in each epoch, opened once, and held."""
    encoder = OneHot("dna")
    stream = DataLoader(SequenceStream(path, encoder=encoder), BATCH, **options)
    held = DataLoader(SequenceDataset(path, encoder=encoder), BATCH, **options)

    def opened() -> None:
        drain(DataLoader(SequenceDataset(path, encoder=encoder), BATCH, **options))

    return partial(drain, stream), opened, partial(drain, held)


def drain(batches: Iterable[Any]) -> None:
    """Makes every batch and keeps none."""
    for _ in batches:
        pass


def _whole(path: str, reads: int) -> str:
    """Times whole epochs in the file's order."""
    stream, opened, held = ours(path, num_workers=2)
    _check(path)
    sides: dict[str, Epoch] = {
        "seqloom, dataset held in memory": held,
        "seqloom, dataset opened and one epoch": opened,
        "seqloom, stream (the file is read)": stream,
        "NumPy loop over dnaio": lambda: drain(loop(path)),
        "floor: writing as many numbers, one thread": lambda: fill(reads),
        "floor: reading the file in blocks, too": lambda: _read_and_fill(path, reads),
        "DataLoader over dnaio, 0 workers": _torch(Records(path)),
        "DataLoader over dnaio, 2 workers": _torch(Records(path), num_workers=2),
    }
    drain_all(sides)
    return _table(sides, reads)


def _torch(data: Any, **options: Any) -> Epoch:
    """An epoch of PyTorch's loader."""
    return partial(drain, TorchLoader(data, batch_size=BATCH, **options))


def _shuffled(path: str, few: int) -> str:
    """Times epochs in random order; the rivals read every n-th of the reads only."""
    folder = Path(path).parent / "few"
    folder.mkdir()
    small = write(folder, few)
    import_module("pyfastx").Fastq(small)  # makes its index, which is not timed
    data = SequenceDataset(small, encoder=OneHot("dna"))
    sides: dict[str, Epoch] = {
        "seqloom, shuffled": partial(
            drain, DataLoader(data, BATCH, shuffle=True, num_workers=2)
        ),
        # One object each: workers that share an open file would move its position.
        "DataLoader over pyfastx, 0 workers": _torch(Indexed(small, few), shuffle=True),
        "DataLoader over pyfastx, 2 workers": _torch(
            Indexed(small, few), shuffle=True, num_workers=2
        ),
    }
    drain_all(sides)
    return f"In random order, {few:,} reads:\n\n{_table(sides, few)}"


def drain_all(sides: dict[str, Epoch]) -> None:
    """Runs each side once: touches the machine's memory before anything is timed."""
    for epoch in sides.values():
        epoch()


def _check(path: str) -> None:
    """Proves that all sides give the same batches."""
    stream = DataLoader(SequenceStream(path, encoder=OneHot("dna")), BATCH, num_workers=2)
    data = DataLoader(SequenceDataset(path, encoder=OneHot("dna")), BATCH)
    theirs = TorchLoader(Records(path), batch_size=BATCH)
    four = zip(stream, data, loop(path), theirs, strict=True)
    for one, other, third, fourth in islice(four, 20):
        assert np.array_equal(one["inputs"], other["inputs"])
        assert np.array_equal(one["inputs"], third)
        assert np.array_equal(one["inputs"], fourth.numpy())


def _table(sides: dict[str, Epoch], reads: int) -> str:
    """Times all sides and writes a row each."""
    rounds = interleave(sides, rounds=ROUNDS)
    times = {name: median(seconds) for name, seconds in rounds.items()}
    first = next(iter(times.values()))
    return table(HEAD, [_row(name, reads, (times[name], first)) for name in times])


def _row(name: str, reads: int, times: tuple[float, float]) -> tuple[object, ...]:
    """Writes the time of one side, and beside it the first one's."""
    seconds, first = times
    speed = f"{reads / seconds / 1e6:.2f} M"
    return name, f"{seconds:.2f}", speed, f"{seconds / first:.1f}"


def _growth(path: str) -> str:
    """Watches the memory of ten epochs."""
    data = SequenceDataset(path, encoder=OneHot("dna"))
    sizes: list[int] = []
    loader = DataLoader(data, BATCH, shuffle=True, num_workers=2)
    for _ in range(EPOCHS):
        drain(loader)
        gc.collect()
        sizes.append(_resident())
    share = 100 * (sizes[-1] / sizes[1] - 1)
    return (
        f"Memory from the second epoch to the tenth: {share:+.1f} % of "
        f"{sizes[1] >> 20} MiB."
    )


def _resident() -> int:
    """Reads how much memory this process has, in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def _notes() -> str:
    """Says what was measured."""
    return (
        f"Random reads of {LETTERS} letters from the system's cache to float32 batches "
        f"({BATCH}, 4, {LETTERS}), all sides' batches being equal. Ours have two threads "
        "and carry ids, files and ordinals too. The loop writes into one array again and "
        "again.\n\n"
        f"{machine('numpy', 'torch', 'dnaio', 'pyfastx', 'seqloom')}"
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
