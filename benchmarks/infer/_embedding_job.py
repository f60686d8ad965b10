"""Embed a file of proteins into shards on disk with `sl.infer.embed`."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks._measure import full_or_quick
from benchmarks._page import markdown_table
from benchmarks.infer._inputs import Ids, sample_proteins, write_fasta, write_network

PROTEIN_COUNT = full_or_quick(150, 30)


def embed_proteins(
    network: Any, records: Sequence[Ids], folder: Path, **options: Any
) -> Any:
    """Write proteins as FASTA, embed the file, and return the summary."""
    import seqloom as sl

    write_fasta(records, folder / "p.fa")
    return sl.infer.embed(network, folder / "p.fa", out=folder / "e", **options)


def measure_backends() -> str:
    """Return a table of the time of `embed` with the 8M network on each backend."""
    import seqloom as sl

    rows: list[list[str]] = []
    for name in ("numpy", "torch"):
        with TemporaryDirectory() as folder:
            write_network("8M", Path(folder, "network"))
            on = sl.tensor.backend(name, num_threads=1)
            network = sl.models.ESM2.load(Path(folder, "network"), on)
            summary = embed_proteins(
                network, sample_proteins(PROTEIN_COUNT), Path(folder), num_threads=1
            )
        rows.append([f"seqloom, {name}", *speed_and_waiting_cells(summary)])
    text = markdown_table(("8M, FASTA to shards", *TABLE_COLUMNS), rows)
    note = f"`embed` on {PROTEIN_COUNT} proteins of the UniProt-like mix, by elapsed time."
    return f"{text}\n\n{note}"


TABLE_COLUMNS = ("tokens/s", "waiting for input")


def speed_and_waiting_cells(summary: Any) -> tuple[str, str]:
    """Return the tokens per second, and the fraction of time spent waiting for batches."""
    return f"{summary.tokens_per_second:,.0f}", f"{summary.shares['input']:.4f}"


if __name__ == "__main__":
    print(measure_backends())
