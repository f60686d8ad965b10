"""Time reading, effects and mutation maps, and write the tables."""

import tempfile
from pathlib import Path

from benchmarks._page import describe_machine, markdown_table, publish_section
from benchmarks.variants import _effects, _mutation_maps, _reading

NOTES = f"""
The VCF file is compressed by bgzip; times are medians of {_reading.ROUNDS} alternate rounds
from the page cache. Times of bcftools are those of the quicker of `query` and `view`.
Packages run in their own environments, and the start of an interpreter is not counted. The
networks of SpliceAI are those of its package, with random sequences and genes. The network
like BPNet has random weights, 64 channels, 8 dilated layers and windows of
{_effects.BPNET_WIDTH:,} bases. Whole passes read both alleles of each variant. Times of
effects are the shortest of {_effects.ROUNDS} rounds. SpliceAI ran once, while other
programs ran. The mode fast=True computes only what changes; it is also forced for short
jobs. The mode fast=False ran once. Computing only what changes saves at most a factor
of 1.8 for an isolated variant of the network like BPNet. For its maps of 1,000 bases,
the factor is at most 4.6.
"""


def main() -> None:
    """Check that all programs find the same, then time them."""
    with tempfile.TemporaryDirectory() as name:
        text = "\n\n".join(_page_sections(Path(name)))
    publish_section("variants", text, notes=NOTES)


def _page_sections(folder: Path) -> list[str]:
    """Return each table of the page as text."""
    reading, size = _reading.reading_rows(folder)
    short, long = _reading.stream_memory(size)
    memory = (
        f"The file has {size / 1e9:.2f} GB of text. Reading genotypes from a stream needs "
        f"at most {short[1] / 1e6:.0f} MB of memory for {short[0] / 1e9:.1f} GB, and "
        f"{long[1] / 1e6:.0f} MB for {long[0] / 1e9:.1f} GB."
    )
    missing = ", ".join(_reading.list_missing()) or "none"
    return [
        markdown_table(_reading.READING_COLUMNS, reading),
        memory,
        markdown_table(_effects.EFFECT_COLUMNS, _effects.effect_rows(folder)),
        markdown_table(_mutation_maps.MAP_COLUMNS, _mutation_maps.map_rows(folder)),
        f"Missing programs: {missing}. {describe_machine('numpy', 'seqloom')}",
    ]
