"""A protein of 100,000 residues is never truncated."""

import numpy as np
import pytest

from encode_oracle import AMINO_ACIDS, ESM2_VOCABULARY, number, words
from seqloom.data import DataLoader, PadCollator, SequenceDataset, VarlenCollator
from seqloom.encode import Integer, Kmer, OneHot, Tokens
from seqloom.errors import ShapeError

PROTEIN_LENGTH = 100_000
LONG_PROTEIN = "".join(np.random.default_rng(5).choice([*AMINO_ACIDS], PROTEIN_LENGTH))
EXPECTED_INTEGER_CODES = [AMINO_ACIDS.index(letter) for letter in LONG_PROTEIN]
EXPECTED_TOKENS = [ESM2_VOCABULARY.index(letter) for letter in LONG_PROTEIN]
ENCODERS_AND_RESULTS = [
    (Integer("protein"), EXPECTED_INTEGER_CODES),
    (OneHot("protein"), np.eye(20)[EXPECTED_INTEGER_CODES].T),
    (Kmer(3, "protein"), [number(word, AMINO_ACIDS) for word in words(LONG_PROTEIN, 3)]),
    (Tokens("esm2"), [0, *EXPECTED_TOKENS, 2]),
    (Tokens("esm2", add_special_tokens=False), EXPECTED_TOKENS),
]
cases = pytest.mark.parametrize(
    ("encode", "expected"),
    ENCODERS_AND_RESULTS,
    ids=["integer", "one-hot", "words", "esm2", "bare"],
)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A short protein, and a long protein in lines of 60 residues."""
    path = tmp_path_factory.mktemp("long") / "a.fa"
    lines = "\n".join(LONG_PROTEIN[at : at + 60] for at in range(0, PROTEIN_LENGTH, 60))
    path.write_text(f">short\nMKV\n>long\n{lines}\n")
    return path


@cases
def test_every_residue_of_a_long_protein_is_encoded(encode, expected):
    np.testing.assert_array_equal(encode(LONG_PROTEIN), expected)
    batch = encode.batch([LONG_PROTEIN, "MKVA"], length=PROTEIN_LENGTH + 2)[0]
    shape = np.asarray(expected).shape
    np.testing.assert_array_equal(batch[..., : shape[-1]], expected)


@cases
def test_a_protein_longer_than_the_batch_is_an_error(encode, expected):
    del expected
    with pytest.raises(ShapeError, match=r"100,?000 residues.*more than length=1,?024"):
        encode.batch([LONG_PROTEIN, "MKVA"], length=1024)


@pytest.mark.parametrize("workers", [0, 2])
@cases
def test_a_loader_returns_every_residue_of_a_long_protein(path, encode, expected, workers):
    data = SequenceDataset(path, encoder=encode)
    loader = DataLoader(data, 2, collate_fn=PadCollator(), num_workers=workers)
    [batch] = list(loader)
    shape = np.asarray(expected).shape
    np.testing.assert_array_equal(batch["inputs"][1][..., : shape[-1]], expected)
    assert batch["lengths"].tolist()[1] == shape[-1]


@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_raises_for_a_protein_longer_than_the_batch(path, workers):
    data = SequenceDataset(path, encoder=Tokens("esm2"))
    collate = PadCollator(length=1024)
    with pytest.raises(ShapeError, match=r"more than length=1,?024"):
        list(DataLoader(data, 2, collate_fn=collate, num_workers=workers))


def test_packing_a_long_protein_works_or_is_an_error_with_a_remedy(path):
    data = SequenceDataset(path, encoder=Tokens("esm2"))
    roomy = VarlenCollator(max_tokens=PROTEIN_LENGTH + 10)
    [batch] = list(DataLoader(data, collate_fn=roomy))
    assert batch["input_ids"].tolist()[5:] == [0, *EXPECTED_TOKENS, 2]
    with pytest.raises(ShapeError, match=r"'long' .* has 100,002 tokens, more than"):
        list(DataLoader(data, collate_fn=VarlenCollator(max_tokens=4096)))
