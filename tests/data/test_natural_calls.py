"""Plausible calls work if they are unambiguous, and otherwise raise a clear error."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from seqloom import Key
from seqloom.augment import (
    Augmentation,
    Compose,
    Crop,
    Mask,
    Mutate,
    QualityNoise,
    ReverseComplement,
    ShuffleKmers,
)
from seqloom.data import DataLoader, SequenceDataset, VarlenCollator, folds, split
from seqloom.encode import Integer, Kmer, OneHot, Tokens
from seqloom.errors import ArgumentError


@dataclass(frozen=True)
class Backwards(Augmentation):
    """A custom augmentation that accepts qualities."""

    def __call__(self, sequence, key, *, quality=None):  # noqa: ARG002 - what it is given
        return sequence[::-1]


# The tests pass values of wrong types on purpose.
UNTYPED_NONE: Any = None
UNTYPED_STRING: Any = "3"
UNTYPED_FLOAT: Any = 2.5
UNTYPED_LIST: Any = []
LIST_OF_SEQUENCES: Any = ["ACGT"]
UNTYPED_AUGMENTATION: Any = ReverseComplement()
CALLS_WITH_COMMON_MISTAKES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "one share": (lambda data: split(data, UNTYPED_FLOAT), "a number for each subset"),
    "no shares": (lambda data: split(data, UNTYPED_NONE), "a number for each subset"),
    "named shares": (
        lambda data: split(data, LIST_OF_SEQUENCES),
        "a number for each subset",
    ),
    "a list to split": (
        lambda _: split(LIST_OF_SEQUENCES, (0.5, 0.5)),
        "dataset must be a dataset of sl.data",
    ),
    "half a fold": (
        lambda data: folds(data, UNTYPED_FLOAT),
        "k must be an integer of at least 2",
    ),
    "no key": (
        lambda _: ReverseComplement()(b"A", UNTYPED_NONE),
        "key must be an sl.Key or",
    ),
    "no sequence": (
        lambda _: ReverseComplement()(UNTYPED_NONE, Key(0)),
        "ASCII text or bytes",
    ),
    "no ASCII": (lambda _: ReverseComplement()("é", Key(0)), "ASCII text or bytes"),
    "a text as share": (
        lambda _: ReverseComplement(p=UNTYPED_STRING),
        "p must be a number",
    ),
    "no rate": (lambda _: Mutate(rate=UNTYPED_NONE), "rate must be a number"),
    "no letter": (
        lambda _: Mask(letter=UNTYPED_NONE),
        "letter must be one ASCII character",
    ),
    "a text as length": (lambda _: Crop(UNTYPED_STRING), "length must be an integer"),
    "half a length": (lambda _: Crop(UNTYPED_FLOAT), "length must be an integer"),
    "a text as k": (lambda _: ShuffleKmers(UNTYPED_STRING), "k must be an integer"),
    "one member": (lambda _: Compose(UNTYPED_AUGMENTATION), "takes a list of"),
    "a user's member": (lambda _: Compose([Backwards()]), "augmentations of sl.augment"),
    "a list as one": (
        lambda _: OneHot("dna")(LIST_OF_SEQUENCES),
        "encodes one, encoder.batch",
    ),
    "nothing as one": (lambda _: OneHot("dna")(UNTYPED_NONE), "must be a string or bytes"),
    "one as several": (lambda _: OneHot("dna").batch("ACGT"), "several sequences"),
    "a name as tokens": (lambda _: VarlenCollator(tokens="esm2"), "a function of one"),
    "a text as offset": (
        lambda _: QualityNoise(offset=UNTYPED_STRING),
        "offset must be 33 or 64",
    ),
    "no alphabet": (lambda _: OneHot(UNTYPED_NONE), "alphabet must be a name"),
    "no new letters": (lambda _: Mutate(alphabet=UNTYPED_NONE), "alphabet must be a name"),
    "no pairs": (
        lambda _: ReverseComplement(alphabet=UNTYPED_NONE),
        'alphabet must be "dna"',
    ),
    "shares as rate": (lambda _: Mutate(rate=UNTYPED_LIST), "rate must be a number"),
    "a list as mode": (lambda _: Crop(4, mode=UNTYPED_LIST), "mode must be"),
    "half a word": (lambda _: Kmer(UNTYPED_FLOAT), "k must be an integer"),
    "half a stride": (lambda _: Kmer(3, stride=UNTYPED_FLOAT), "stride must be an integer"),
    "a text as k of tokens": (
        lambda _: Tokens("dna", k=UNTYPED_STRING),
        "k must be an integer",
    ),
    "half a padding": (
        lambda _: Integer("dna", padding=UNTYPED_FLOAT),
        "padding must be an integer",
    ),
    "a text as flag": (
        lambda _: OneHot("dna", rna_as_dna=UNTYPED_STRING),
        "must be True or False",
    ),
    "a text as places": (
        lambda _: OneHot("dna").batch(["A"], length=UNTYPED_STRING),
        "length must be an integer",
    ),
    "no quality": (
        lambda _: ReverseComplement()(b"A", Key(0), quality=UNTYPED_FLOAT),
        "quality must be",
    ),
    "no timeout": (lambda data: DataLoader(data, timeout=UNTYPED_NONE), "timeout must be"),
}


@pytest.fixture
def data(fasta):
    return SequenceDataset(fasta({f"s{i}": "AACG" for i in range(10)}))


@pytest.mark.parametrize("name", CALLS_WITH_COMMON_MISTAKES)
def test_common_mistakes_with_datasets_have_clear_messages(data, name):
    call, message = CALLS_WITH_COMMON_MISTAKES[name]
    with pytest.raises(ArgumentError, match=message):
        call(data)


def test_an_augmentation_without_a_key_argument_is_an_error(data):
    with pytest.raises(ArgumentError, match="lambda sequence, key"):
        SequenceDataset(data.paths, augment=lambda letters: letters)


def test_an_augmentation_accepts_an_integer_as_a_key():
    turn: Any = ReverseComplement()
    for seed in range(4):
        assert turn(b"AACG", seed) == turn(b"AACG", Key(seed))
        assert turn(b"AACG", np.int64(seed)) == turn(b"AACG", Key(seed))


def test_the_shares_of_a_split_may_be_an_array(data):
    assert [len(part) for part in split(data, np.array([0.8, 0.2]))] == [8, 2]


def test_a_custom_augmentation_changes_the_residues(data):
    changed = SequenceDataset(data.paths, augment=Backwards())
    assert changed[0]["sequence"] == b"GCAA"
    assert changed.batch([0, 1])["sequence"] == [b"GCAA", b"GCAA"]


def test_the_packing_collator_accepts_a_token_function():
    items = [{"id": "a", "sequence": b"ACG"}, {"id": "b", "sequence": b"T"}]
    batch = VarlenCollator(tokens=lambda letters: [ord("x"), *letters])(items)
    assert batch["input_ids"].tolist() == [120, 65, 67, 71, 120, 84]
    assert batch["cu_seqlens"].tolist() == [0, 4, 6]
