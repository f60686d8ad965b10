"""Time the functions of intervals, and write the tables."""

import tempfile
from pathlib import Path

from benchmarks._page import describe_machine, markdown_table, publish_section
from benchmarks.tracks import _negatives

NOTES = f"""
Negatives: {_negatives.PEAKS:,} random peaks of {_negatives.WIDTH:,} bases on a simulated
genome of {_negatives.GENOME_MEGABASES} million bases, whose G+C content varies. Times are
medians of {_negatives.ROUNDS} alternate rounds from the page cache; tangermeme runs in its
own environment, and imports are not counted.
"""


def main() -> None:
    """Check the results, then time them."""
    with tempfile.TemporaryDirectory() as name:
        rows = _negatives.negative_rows(Path(name))
    table = markdown_table(_negatives.COLUMNS, rows)
    text = f"{table}\n\n{describe_machine('numpy', 'seqloom')}"
    publish_section("tracks", text, notes=NOTES)
