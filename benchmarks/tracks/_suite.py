"""Time the functions of intervals, and write the tables."""

import tempfile
from pathlib import Path

from benchmarks._page import describe_machine, markdown_table, publish_section
from benchmarks.tracks import _batches, _negatives

NOTES = f"""
Batches: {_batches.REGIONS:,} regions of {_batches.WIDTH:,} one-hot bases with the cut sites
of their middle {_batches.TARGET_WIDTH:,} bases, in batches of {_batches.BATCH_SIZE}, in
random order. All programs may use two threads. The first epoch includes the preparation:
the cache of seqloom, the data set of GenVarLoader, and the array of gReLU, which is in
memory. Tracks of GenVarLoader have the width of the sequences. All programs return the same
values. gReLU was not run with 16 tracks, whose array needs 6 GB.

Negatives: {_negatives.PEAKS:,} random peaks of {_negatives.WIDTH:,} bases on a simulated
genome of {_negatives.GENOME_MEGABASES} million bases, whose G+C content varies. Times are
medians of {_negatives.ROUNDS} alternate rounds from the page cache; tangermeme runs in its
own environment, and imports are not counted.
"""


def main() -> None:
    """Check the results, then time them."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        batches = markdown_table(_batches.COLUMNS, _batches.batch_rows(folder))
        memory = _batches.batch_memory(folder)
        negatives = markdown_table(_negatives.COLUMNS, _negatives.negative_rows(folder))
    machine = describe_machine("numpy", "seqloom")
    text = f"{batches}\n\n{memory}\n\n{negatives}\n\n{machine}"
    publish_section("tracks", text, notes=NOTES)
