"""Slow reference implementation of packing and windows, with sequences from Biopython."""

import gzip
import itertools
import pathlib
from collections import Counter

from Bio import SeqIO

# The published vocabulary of ESM-2.
ESM2_VOCABULARY = dict(
    zip(
        ["<cls>", "<pad>", "<eos>", "<unk>", *"LAGVSERTIDPKQNFYMHWCXBUZO.-"],
        range(31),
        strict=True,
    )
)


def read(path):
    """Return records from Biopython."""
    is_packed = str(path).endswith(".gz")
    with gzip.open(path, "rt") if is_packed else pathlib.Path(path).open() as file:
        return [(record.id, str(record.seq)) for record in SeqIO.parse(file, "fasta")]


def tokens_of(letters):
    """Return the tokens of one sequence."""
    return [0, *(ESM2_VOCABULARY[letter] for letter in letters), 2]


def windows_of(letters, most, overlap):
    """Return the start of each window of a record, and its residues."""
    found = [(0, letters[:most])]
    while found[-1][0] + len(found[-1][1]) < len(letters):
        start = found[-1][0] + most - overlap
        found.append((start, letters[start : start + most]))
    return found


def pack(sizes, max_tokens, window):
    """Fill batches from a pool of windows: first the oldest window, then the longest."""
    batches, waiting = [], []
    for number in range(len(sizes)):
        waiting.append(number)
        if len(waiting) >= window and sum(sizes[i] for i in waiting) >= 2 * max_tokens:
            batches.append(_take(waiting, sizes, max_tokens))
    while waiting:
        batches.append(_take(waiting, sizes, max_tokens))
    return batches


def _take(waiting, sizes, room):
    taken = []
    for number in [waiting[0], *sorted(waiting[1:], key=lambda i: (-sizes[i], i))]:
        if sizes[number] <= room:
            taken.append(number)
            room -= sizes[number]
    waiting[:] = [number for number in waiting if number not in taken]
    return sorted(taken)


def parts_of(batch):
    """Return the windows of a batch: id, ordinal, start and tokens."""
    bounds = itertools.pairwise(batch["cu_seqlens"].tolist())
    rows = [batch["input_ids"][a:b].tolist() for a, b in bounds]
    about = batch["sequence_ids"], batch["ordinals"].tolist(), batch["starts"].tolist()
    return list(zip(*about, rows, strict=True))


def same_batches(left, right):
    """Return whether batches are equal bit by bit."""
    return len(left) == len(right) and all(map(_is_same, left, right))


def _is_same(left, right):
    return left.keys() == right.keys() and all(
        _as_key(left[k]) == _as_key(right[k]) for k in left
    )


def _as_key(value):
    return (value.dtype.str, value.tolist()) if hasattr(value, "dtype") else value


def counted(batches):
    """Count how often each window occurs."""
    return Counter(part[1:3] for batch in batches for part in parts_of(batch))
