import pickle

import numpy as np
import pytest
from hypothesis import given, strategies as st

from encode_oracle import ESM2_VOCABULARY, number, padded, words
from seqloom._config import JsonConfig
from seqloom.encode import Tokens
from seqloom.errors import AlphabetError, ArgumentError

residues = st.text("LAGVSERTIDPKQNFYMHWCXBUZO", max_size=60)


def test_the_vocabulary_of_esm2_is_the_published_list():
    encode = Tokens("esm2")
    assert list(encode.vocabulary) == ESM2_VOCABULARY
    assert list(encode.vocabulary.values()) == list(range(33))
    assert (encode.vocabulary_size, encode.pad_value, encode.mask_value) == (33, 1, 32)


@given(st.lists(residues, min_size=1, max_size=5))
def test_a_protein_is_encoded_between_cls_and_eos(texts):
    slow = [[0, *[ESM2_VOCABULARY.index(letter) for letter in text], 2] for text in texts]
    assert Tokens("esm2").batch(texts, length=62).tolist() == padded(slow, 62, 1)


@given(st.lists(residues, min_size=1, max_size=5))
def test_decode_restores_the_encoded_sequence(texts):
    encode = Tokens("esm2", dtype="uint8")
    assert encode.decode(encode.batch(texts, length=70)) == [t.encode() for t in texts]


def test_the_amino_acid_code_j_has_no_token_in_esm2():
    assert Tokens("esm2", add_special_tokens=False)("JX").tolist() == [3, 24]
    assert (
        Tokens("esm2", unknown="mask", add_special_tokens=False)("JX").tolist() == [32] * 2
    )
    with pytest.raises(AlphabetError):
        Tokens("esm2", unknown="error")("MX")


def test_the_option_symbols_keep_encodes_gaps_as_gap_tokens():
    assert Tokens("esm2", symbols="keep")("M-.*").tolist() == [0, 20, 30, 29, 3, 2]
    assert Tokens("esm2", symbols="zeros")("M-").tolist() == [0, 20, 32, 2]
    with pytest.raises(AlphabetError):
        Tokens("esm2")("M-K")


def test_a_final_stop_symbol_is_dropped_before_the_eos_token():
    encode = Tokens("esm2")
    assert encode("MK*").tolist() == [0, 20, 15, 2]
    assert encode.batch(["MK*"]).tolist() == [[0, 20, 15, 2]]
    assert encode.batch(["MK*"], length=5).tolist() == [[0, 20, 15, 2, 1]]
    tokens, offsets = encode.flat(["MK*", "A"])
    assert (tokens.tolist(), offsets.tolist()) == ([0, 20, 15, 2, 0, 5, 2], [0, 4, 7])


def test_the_dna_vocabulary_equals_the_documented_list():
    expected = ["<cls>", "<pad>", "<eos>", "<unk>", "A", "C", "G", "T", "N", "<mask>"]
    assert list(Tokens("dna").vocabulary) == expected
    assert list(Tokens("rna").vocabulary)[7] == "U"
    assert Tokens("dna")("ACGTNR").tolist() == [0, 4, 5, 6, 7, 8, 3, 2]


@given(st.lists(st.text("ACGTN", max_size=50), min_size=1, max_size=4), st.integers(2, 6))
def test_kmer_tokens_follow_four_special_tokens(texts, k):
    slow = [
        [0, *[3 if (it := number(w)) is None else 4 + it for w in words(text, k)], 2]
        for text in texts
    ]
    encode = Tokens("dna", k=k)
    assert encode.batch(texts, length=60).tolist() == padded(slow, 60, 1)
    assert encode.mask_value == 4 + 4**k == encode.vocabulary["<mask>"]
    assert encode.vocabulary["A" * (k - 1) + "C"] == 5


@given(st.text("ACGT", min_size=6, max_size=50), st.integers(1, 6))
def test_kmer_tokens_decode_to_their_sequence(text, k):
    encode = Tokens("dna", k=k)
    assert encode.decode(encode(text)) == [text.encode()]


@pytest.mark.parametrize(
    "options",
    [
        {"name": "esm3"},
        {"name": "esm2", "k": 2},
        {"name": "dna", "k": 13},
        {"name": "dna", "stride": 2},
        {"name": "dna", "k": 6, "dtype": "uint8"},
        {"name": "esm2", "rna_as_dna": True},
    ],
)
def test_an_invalid_option_of_the_token_encoder_is_an_error(options):
    with pytest.raises(ArgumentError):
        Tokens(**options)


def test_token_encoders_from_json_and_pickle_equal_the_original():
    encode = Tokens("dna", k=3, case="mask")
    again = pickle.loads(pickle.dumps(encode))  # noqa: S301 - ours
    assert JsonConfig.from_json(encode.to_json()) == encode == again
    np.testing.assert_array_equal(again("ACGTac"), encode("ACGTac"))
