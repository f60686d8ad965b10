"""Read FASTA into packed batches of tokens with seqloom and Hugging Face."""

import tempfile
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import chain, islice
from pathlib import Path
from statistics import median
from typing import Any, TypeAlias

import numpy as np

from benchmarks._measure import read_blocks, time_alternately
from benchmarks._page import describe_machine, markdown_table, publish_section
from seqloom.data import PackedStream, SequenceStream, VarlenCollator
from seqloom.encode import Tokens

Batches: TypeAlias = Iterable[dict[str, Any]]

RECORDS, FEW, LINE = 200_000, 4_000, 60
TOKEN_BUDGETS = (4_096, 16_384, 65_536)
MAX_TOKENS = 16_384
ROUNDS = 7
AMINO_ACIDS = np.frombuffer(b"LAGVSERTIDPKQNFYMHWC", np.uint8)
OURS, FLOOR = (
    "seqloom, PackedStream",
    "floor: reading the file and copying the numbers",
)
ESM2_ENCODER = Tokens("esm2")
MODULE_OF_PACKAGE = {"transformers": "transformers", "biopython": "Bio"}
INSTALLED_PACKAGES = (
    "numpy",
    *(name for name, it in MODULE_OF_PACKAGE.items() if find_spec(it)),
    "seqloom",
)
NOTES = f"""
The input is a FASTA file in the page cache: {RECORDS:,} random proteins (72 million ESM-2
tokens) with lengths as in UniProt. Batches have at most {MAX_TOKENS:,} tokens. Hugging Face
reads the first {FEW:,} records. The floor reads the file and copies eight bytes per
token. All libraries return the same tokens for each record.
"""


def main() -> None:
    """Write files, check that all programs return the same tokens, then time them."""
    with tempfile.TemporaryDirectory() as folder:
        whole, part = (
            write_proteins(Path(folder) / f"{count}.fa", count) for count in (RECORDS, FEW)
        )
        sizes = {path: _count_tokens(path) for path in (whole, part)}
        sides = _list_programs(whole, part, Path(folder))
        _check_equal_tokens(part, sides)
        works = {
            name: partial(_exhaust_batches, side, path)
            for name, (side, path) in sides.items()
        }
        floor = partial(
            _read_file_and_copy_integers, whole, np.ones(2 * sizes[whole], np.int32)
        )
        seconds = time_alternately({**works, FLOOR: floor}, rounds=ROUNDS)
        paths = {name: path for name, (_, path) in sides.items()} | {FLOOR: whole}
        speeds = {name: sizes[paths[name]] / median(each) for name, each in seconds.items()}
        text = f"{_speed_table(speeds)}\n\n{_batch_fill_table(whole)}\n\n"
        text += describe_machine(*INSTALLED_PACKAGES)
    publish_section("pack", text, notes=NOTES, hidden="mean fill")


def write_proteins(path: Path, count: int) -> Path:
    """Write random proteins with the length distribution of UniProt, in lines of 60."""
    rng = np.random.default_rng(0)
    lengths = np.exp(rng.normal(np.log(290), 0.70, count)).clip(20, 1022).astype(int)
    with path.open("wb") as file:
        for number, length in enumerate(lengths.tolist()):
            letters = AMINO_ACIDS[rng.integers(0, AMINO_ACIDS.size, length)].tobytes()
            lines = [letters[at : at + LINE] for at in range(0, length, LINE)]
            header = b">sp|P%06d|NAME_%d Some protein OS=Some species" % (number, number)
            file.write(b"\n".join([header, *lines, b""]))
    return path


def _packed_stream_batches(path: Path, budget: int = MAX_TOKENS) -> Batches:
    """Return the batches of PackedStream, computed with one thread."""
    return PackedStream(path, ESM2_ENCODER, max_tokens=budget, num_threads=1)


def _collated_stream_batches(path: Path) -> Batches:
    """Return batches that VarlenCollator packs from a SequenceStream."""
    items = iter(SequenceStream(path, num_threads=1))
    return VarlenCollator(tokens=ESM2_ENCODER, max_tokens=MAX_TOKENS).stream(items)


def _hugging_face_batches(tokenizer: Any, path: Path) -> Batches:
    """Return batches that Hugging Face's collator packs from Biopython's records."""
    collate = import_module("transformers").DataCollatorWithFlattening(
        return_flash_attn_kwargs=True, return_tensors="np"
    )
    for rows in _fill_batches(_tokenise(tokenizer, path)):
        batch = collate([{"input_ids": row} for row in rows])
        yield {"input_ids": np.asarray(batch["input_ids"])[0]}


def _tokenise(tokenizer: Any, path: Path) -> Iterator[list[int]]:
    """Read records and tokenise a thousand at a time."""
    parse = import_module("Bio.SeqIO.FastaIO").SimpleFastaParser
    with path.open() as file:
        letters = (letters for _, letters in parse(file))
        while part := list(islice(letters, 1000)):
            yield from tokenizer(part)["input_ids"]


def _fill_batches(rows: Iterator[list[int]]) -> Iterator[list[list[int]]]:
    """Fill each batch with the next records of the file."""
    waiting: list[list[int]] = []
    total = 0
    for row in rows:
        if total + len(row) > MAX_TOKENS:
            yield waiting
            waiting, total = [], 0
        waiting.append(row)
        total += len(row)
    yield waiting


def _list_programs(
    whole: Path, part: Path, folder: Path
) -> dict[str, tuple[Callable[[Path], Batches], Path]]:
    """Return each program's function and file; slow programs read a smaller file."""
    sides: dict[str, tuple[Callable[[Path], Batches], Path]] = {
        OURS: (_packed_stream_batches, whole),
        "seqloom, SequenceStream and VarlenCollator": (_collated_stream_batches, whole),
    }
    if find_spec("transformers") and find_spec("Bio"):
        vocabulary = folder / "vocab.txt"
        vocabulary.write_text("\n".join(ESM2_ENCODER.vocabulary))
        tokenizer = import_module("transformers").EsmTokenizer(str(vocabulary))
        name = "Biopython, EsmTokenizer, DataCollatorWithFlattening"
        sides[name] = (partial(_hugging_face_batches, tokenizer), part)
    return sides


def _check_equal_tokens(
    path: Path, sides: dict[str, tuple[Callable[[Path], Batches], Path]]
) -> None:
    """Raise if the programs return different tokens."""
    found = {_sorted_records(side(path)) for side, _ in sides.values()}
    assert len(found) == 1, "not the same tokens"


def _sorted_records(batches: Batches) -> tuple[bytes, ...]:
    """Split batches after each record, and return the sorted records."""
    eos = ESM2_ENCODER.vocabulary["<eos>"]
    rows = (batch["input_ids"] for batch in batches)
    parts = (np.split(row, np.flatnonzero(row == eos)[:-1] + 1) for row in rows)
    return tuple(sorted(part.astype(np.uint8).tobytes() for part in chain(*parts)))


def _count_tokens(path: Path) -> int:
    """Count the tokens of all batches."""
    return sum(batch["input_ids"].size for batch in _packed_stream_batches(path))


def _exhaust_batches(side: Callable[[Path], Batches], path: Path) -> None:
    """Iterate over all batches without keeping them."""
    for _ in side(path):
        pass


def _read_file_and_copy_integers(path: Path, numbers: Any) -> None:
    """Read the file, and copy two integers per token, as a lower bound of the time."""
    read_blocks(path)
    out = np.empty(2 * MAX_TOKENS, np.int32)
    for start in range(0, numbers.size, out.size):
        batch = numbers[start : start + out.size]
        out[: batch.size] = batch


def _speed_table(speeds: dict[str, float]) -> str:
    """Return the table of speeds."""
    rows = [
        (name, f"{speed / 1e6:.2f} M", f"{speed / speeds[OURS]:.4f}")
        for name, speed in speeds.items()
    ]
    return markdown_table(
        ("from a plain file, one thread", "tokens/s", "relative to PackedStream"), rows
    )


def _batch_fill_table(path: Path) -> str:
    """Return a table with the fraction of each batch that tokens fill."""
    rows: list[tuple[str, str]] = []
    for budget in TOKEN_BUDGETS:
        sizes = [batch["input_ids"].size for batch in _packed_stream_batches(path, budget)]
        rows.append((f"{budget:,}", f"{np.mean(sizes) / budget:.4f}"))
    return markdown_table(("max. tokens per batch", "mean fill, with the last batch"), rows)
