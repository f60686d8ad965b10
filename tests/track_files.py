"""Track files for tests, written by pyBigWig or byte by byte."""

import struct
from pathlib import Path

import numpy as np
import pyBigWig

CONTIGS = {"chr1": 30_000, "chr2": 3000, "chrM": 200}
KINDS = ("ranges", "variable_step", "fixed_step")


def write_bigwig(path: Path, kind: str, seed: int) -> Path:
    """Write random values with pyBigWig, in one of the three kinds of blocks."""
    rng = np.random.default_rng(seed)
    with pyBigWig.open(str(path), "w") as file:
        file.addHeader(list(CONTIGS.items()))
        for name, length in CONTIGS.items():
            if kind == "ranges":
                cuts = np.sort(rng.choice(length, 2 * (length // 40), replace=False))
                starts, stops = cuts[::2].tolist(), cuts[1::2].tolist()
                values = rng.normal(size=len(starts)).tolist()
                file.addEntries([name] * len(starts), starts, ends=stops, values=values)
            elif kind == "variable_step":
                places = rng.choice(length // 10, length // 30, replace=False)
                starts = (10 * np.sort(places)).tolist()
                values = rng.normal(size=len(starts)).tolist()
                file.addEntries(name, starts, values=values, span=7)
            else:
                values = rng.normal(size=length // 25).tolist()
                file.addEntries(name, 3, values=values, span=20, step=22)
    return path


def pack_bigwig(order: str, ranges: list[tuple[int, int, float]], length: int) -> bytes:
    """Return a file with one contig and one block without compression.

    The byte order is ``"<"`` or ``">"``.
    """
    contig_tree = struct.pack(order + "4I2Q", 0x78CA8C91, 256, 4, 8, 1, 0)
    contig_tree += struct.pack(order + "BBH4sII", 1, 0, 1, b"chr1", 0, length)
    start, stop = ranges[0][0], ranges[-1][1]
    block = struct.pack(order + "5I2BH", 0, start, stop, 0, 0, 1, 0, len(ranges))
    block += b"".join(struct.pack(order + "2If", *each) for each in ranges)
    at = 64 + len(contig_tree) + 8
    index = struct.pack(order + "2IQ4IQ2I", 0x2468ACE0, 256, 1, 0, start, 0, stop, at, 1, 0)
    index += struct.pack(order + "2BH4I2Q", 1, 0, 1, 0, start, 0, stop, at, len(block))
    header = struct.pack(
        order + "I2H3Q2H2QIQ",
        0x888FFC26,
        4,
        0,
        64,
        at - 8,
        at + len(block),
        0,
        0,
        0,
        0,
        0,
        0,
    )
    count = struct.pack(order + "Q", 1)
    return header + contig_tree + count + block + index
