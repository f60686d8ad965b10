"""Data of the framework tests: a few sequences, and four collators."""

from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

import seqloom as sl
from trainers import ids_of


@pytest.fixture
def sequences(tmp_path):
    """Return a dataset of 22 labelled sequences of 6 and 8 residues."""

    def make(encoder, **options) -> sl.data.Dataset:
        rng = np.random.default_rng(0)
        lengths = [6 if number % 2 else 8 for number in range(22)]
        texts = ["".join(rng.choice([*"ACGT"], length)) for length in lengths]
        path = tmp_path / "a.fa"
        path.write_text("".join(f">s{i}\n{text}\n" for i, text in enumerate(texts)))
        labels = {f"s{i}": "ab"[i // 2 % 2] for i in range(22)}
        return sl.data.SequenceDataset(path, encoder=encoder, labels=labels, **options)

    return make


@pytest.fixture
def fed(sequences):
    """Return a dataset, and a collator by name that returns tensors of its items."""

    def make(name, **options):
        if name == "varlen":
            data = sequences(sl.encode.Tokens("dna"), **options)
            return data, sl.data.VarlenCollator(output="torch")
        data = sequences(sl.encode.OneHot("dna"), **options)
        if name == "pad":
            return data, sl.data.PadCollator(output="torch")
        if name == "default":
            return data[::2], partial(sl.data.default_collate, output="torch")
        return data[::2], torch.utils.data.default_collate

    return make


@pytest.fixture
def expected():
    """Return the batches of two epochs of a seqloom loader, without a framework."""

    def make(data, collate, **options):
        loader: Any = sl.data.DataLoader(
            data, shuffle=True, collate_fn=collate, output="torch", **options
        )
        return [ids_of(batch) for _ in range(2) for batch in loader]

    return make
