"""Times all sides in turn, then the whole loop, and writes the table."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks._measure import interleave
from benchmarks._page import machine, publish, table
from benchmarks.gpu._card import find_peak, measure_rate, name_card, why_not
from benchmarks.infer._inputs import SHAPES, Ids, mix, write_network
from benchmarks.infer._whole import HEAD as LOOP, columns, run_loop

SIZE, DTYPE, PROTEINS, WHOLE, ROUNDS = "650M", "bfloat16", 1_000, 5_000, 5
LEAST = 0.99  # cosine of a protein's mean in half precision, between two sides
OURS = "seqloom, packed"
HEAD = ("", "tokens/s", "seqloom / it", "of the data sheet's rate", "of products' rate")


def main() -> None:
    """Measures the network and the loop on the first card; says so where there is none."""
    if reason := why_not():
        print(f"gpu: skipped: {reason}")
        return
    with TemporaryDirectory() as folder:
        write_network(SIZE, Path(folder, "network"))
        text = measure("cuda", DTYPE, Path(folder))
    publish("gpu", text, kind=name_card())


def measure(device: str, dtype: str, folder: Path) -> str:
    """Times the sides and the loop: two tables and notes."""
    from benchmarks.gpu._sides import Case, sides

    case = Case(SIZE, device, dtype, folder / "network", mix(PROTEINS))
    works = sides(case)
    _check(works, case.records)
    seconds = interleave(works, rounds=ROUNDS)
    times = {name: median(each) for name, each in seconds.items()}
    rates = find_peak(device), measure_rate(device, dtype)
    loop = _tell_loop(_run_loop(case, folder), case, rates)
    return "\n\n".join([table(HEAD, _rows(times, case, rates)), loop, _notes()])


def _check(works: Mapping[str, Any], records: Sequence[Ids]) -> None:
    """Refuses to measure sides that do not compute the same."""
    lengths = [len(ids) for ids in records]
    means = {name: _means(work(), lengths) for name, work in works.items()}
    for name, found in means.items():
        cosine = (found * means[OURS]).sum(axis=1)
        assert cosine.min() > LEAST, f"{name}: {cosine.min()}"


def _means(states: Sequence[Any], lengths: Sequence[int]) -> Any:
    """The mean state of each protein, of length 1."""
    import torch

    rows = torch.cat(list(states)).float()
    means: Any = torch.segment_reduce(
        rows, "mean", lengths=torch.tensor(lengths, device=rows.device)
    )
    return torch.nn.functional.normalize(means).cpu().numpy()


def count_operations(size: str, lengths: Sequence[int]) -> float:
    """Multiplications and additions of all products."""
    layers, width, _ = SHAPES[size]
    tokens = np.array(lengths, float)
    linear = 2 * (4 + 8) * width**2 * tokens.sum()
    return layers * (linear + 4 * width * (tokens**2).sum())


def _rows(
    times: Mapping[str, float], case: Any, rates: tuple[float | None, float]
) -> list[list[str]]:
    """A row for each side."""
    lengths = [len(ids) for ids in case.records]
    operations = count_operations(case.size, lengths)
    return [
        [
            name,
            f"{sum(lengths) / taken:,.0f}",
            f"**{taken / times[OURS]:.2f}**",
            *(_share(operations / taken, rate) for rate in rates),
        ]
        for name, taken in times.items()
    ]


def _share(done: float, rate: float | None) -> str:
    """Operations a second by those that the card can do."""
    return f"{done / rate:.3f}" if rate else ""


def _run_loop(case: Any, folder: Path) -> Any:
    """Embeds a file of proteins, from its text to shards on disk."""
    import seqloom as sl
    from benchmarks.gpu._sides import BUDGET

    backend = "torch" if case.device == "cpu" else f"torch:{case.device}"
    network = sl.models.ESM2.load(case.folder, backend, case.dtype)
    return run_loop(network, mix(WHOLE), folder, max_tokens=BUDGET)


def _tell_loop(summary: Any, case: Any, rates: tuple[float | None, float]) -> str:
    """What the whole loop did."""
    done = count_operations(case.size, [len(ids) for ids in mix(summary.records)])
    shares = [_share(done / summary.seconds, rate) for rate in rates]
    head = ("FASTA to shards", *LOOP, *HEAD[3:])
    row = [f"{summary.records:,} proteins", *columns(summary), *shares]
    return f"{table(head, [row])}\n\n{summary.verdict}."


def _notes() -> str:
    """Says what was measured."""
    notes = " ".join(NOTES.split())
    return f"{notes}\n\n{machine('numpy', 'torch', 'transformers', 'seqloom')}"


NOTES = f"""
The {SIZE} network in {DTYPE} with random weights; {PROTEINS:,} proteins whose lengths are
distributed as those of UniProt. Real tokens a second, padding not counted; medians of
{ROUNDS} rounds in which the sides take turns in one process. The rates are those of the
products of the network, by the card's dense {DTYPE} rate of its data sheet, where this
suite knows it, and by that of square products of 8,192 in the same run. The means of the
proteins by any two sides have a cosine above {LEAST}. Hugging Face takes 16 proteins at a
time in file order, or sorted ones within the budget of seqloom, 16,384 tokens; its flash
attention needs the package flash-attn.
"""
