"""Time two epochs of another program: ``python _rivals.py PROGRAM FOLDER TRACKS``.

The script runs in the environment of the program and imports nothing else of this
project. It prints the seconds of both epochs, where the first includes the preparation,
and the sum of the tracks.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

WIDTH, TARGET_WIDTH, BATCH_SIZE = 2114, 1000, 64
CUT = (WIDTH - TARGET_WIDTH) // 2
Epoch = Callable[[np.ndarray], Iterator[np.ndarray]]


def _open_genvarloader(folder: Path, count: int) -> tuple[Epoch, int]:
    """Write the data set of GenVarLoader; its tracks have the width of the sequences."""
    gvl, seqpro = import_module("genvarloader"), import_module("seqpro")
    regions = gvl.with_length(gvl.read_bedlike(folder / "regions.bed"), WIDTH)
    names = [f"track{number:02}" for number in range(count)]
    paths = [str(folder / f"{number}.bw") for number in range(count)]
    tracks = [
        gvl.BigWigs(name, {"sample": path}) for name, path in zip(names, paths, strict=True)
    ]
    gvl.write(folder / "genvarloader", regions, tracks=tracks, overwrite=True)
    opened = gvl.Dataset.open(folder / "genvarloader", folder / "genome.fa")
    opened = opened.with_len(WIDTH).with_seqs("reference").with_tracks(names)

    def run(order: np.ndarray) -> Iterator[np.ndarray]:
        for start in range(0, len(order), BATCH_SIZE):
            sequences, values = opened[order[start : start + BATCH_SIZE]]
            seqpro.DNA.ohe(sequences).astype(np.float32)
            yield values[:, 0, :, CUT:-CUT]

    return run, len(regions)


def _open_grelu(folder: Path, count: int) -> tuple[Epoch, int]:
    """Read all targets into memory, as gReLU does."""
    pandas, grelu = import_module("pandas"), import_module("grelu.data.dataset")
    torch = import_module("torch")
    torch.set_num_threads(2)
    columns = ["chrom", "start", "end"]
    regions = pandas.read_csv(folder / "regions.bed", sep="\t", names=columns)
    data = grelu.BigWigSeqDataset(
        regions,
        [str(folder / f"{number}.bw") for number in range(count)],
        seq_len=WIDTH,
        label_len=TARGET_WIDTH,
        genome=str(folder / "genome.fa"),
        label_aggfunc=None,
        end="both",
    )

    def run(order: np.ndarray) -> Iterator[np.ndarray]:
        loader = torch.utils.data.DataLoader(
            data, batch_size=BATCH_SIZE, sampler=order.tolist()
        )
        for _, values in loader:
            yield np.nan_to_num(values.numpy())

    return run, len(regions)


def _open_pybigwig(folder: Path, count: int) -> tuple[Epoch, int]:
    """Read each region of each file in a loop."""
    pybigwig, pyfaidx = import_module("pyBigWig"), import_module("pyfaidx")
    genome = pyfaidx.Fasta(str(folder / "genome.fa"), sequence_always_upper=True)
    lines = (folder / "regions.bed").read_text().splitlines()
    chroms = [line.split("\t")[0] for line in lines]
    middles = [sum(map(int, line.split("\t")[1:])) // 2 for line in lines]
    files = [pybigwig.open(str(folder / f"{number}.bw")) for number in range(count)]
    codes = np.zeros((256, 4), np.float32)
    codes[list(b"ACGT")] = np.eye(4)

    def run(order: np.ndarray) -> Iterator[np.ndarray]:
        for first in range(0, len(order), BATCH_SIZE):
            rows = order[first : first + BATCH_SIZE].tolist()
            sequences = np.empty((len(rows), 4, WIDTH), np.float32)
            values = np.empty((len(rows), count, TARGET_WIDTH), np.float32)
            for place, row in enumerate(rows):
                start = middles[row] - WIDTH // 2
                text = genome[chroms[row]][start : start + WIDTH].seq
                sequences[place] = codes[np.frombuffer(text.encode(), np.uint8)].T
                span = chroms[row], start + CUT, start + CUT + TARGET_WIDTH
                for number, file in enumerate(files):
                    values[place, number] = file.values(*span, numpy=True)
            yield np.nan_to_num(values)

    return run, len(middles)


def _main(program: str, folder: Path, count: int) -> None:
    openers: dict[str, Any] = {
        "genvarloader": _open_genvarloader,
        "grelu": _open_grelu,
        "pyBigWig": _open_pybigwig,
    }
    for name in ("genvarloader", "seqpro", "grelu.data.dataset", "pyBigWig", "pyfaidx"):
        try:
            import_module(name)  # imports are not measured
        except ImportError:
            continue
    random, seconds, total = np.random.default_rng(0), list[float](), 0.0
    start = time.perf_counter()
    run, regions = openers[program](folder, count)
    for _ in range(2):
        batches = run(random.permutation(regions))
        total = sum(float(batch.sum(dtype="float64")) for batch in batches)
        seconds.append(time.perf_counter() - start)
        start = time.perf_counter()
    print(json.dumps({"seconds": seconds, "total": total}))


if __name__ == "__main__":
    _main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
