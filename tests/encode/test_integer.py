import numpy as np
import pytest
from hypothesis import given, strategies as st

from encode_oracle import AMINO_ACIDS, BASES_OF_IUPAC_CODE, padded
from seqloom._config import JsonConfig
from seqloom.encode import Integer
from seqloom.errors import AlphabetError, ArgumentError

rows = st.lists(st.text("ACGTNRYacgtn", max_size=100), min_size=1, max_size=6)


@given(rows, st.sampled_from(["int64", "int32", "uint8"]), st.sampled_from([None, 7]))
def test_integer_encoding_agrees_with_a_dictionary_lookup(texts, dtype, padding):
    pad = 5 if padding is None else padding
    slow = [["ACGT".find(letter) % 5 for letter in text.upper()] for text in texts]
    fast = Integer("dna", dtype=dtype, padding=padding).batch(texts, length=100)
    assert fast.dtype == dtype
    assert fast.tolist() == padded(slow, 100, pad)


@given(st.lists(st.text(AMINO_ACIDS, max_size=80), min_size=1, max_size=5))
def test_decode_restores_the_encoded_sequence(texts):
    encode = Integer("protein")
    array = encode.batch(texts, length=80)
    assert encode.decode(array) == [text.encode() for text in texts]


@given(rows)
def test_flat_integer_encoding_equals_a_batch_without_padding(texts):
    encode = Integer("dna")
    tokens, offsets = encode.flat(texts)
    slow = encode.batch(texts, length=100).tolist()
    assert tokens.tolist() == [it for row in slow for it in row if it != encode.pad_value]
    assert np.diff(offsets).tolist() == [len(text) for text in texts]


def test_a_final_stop_is_dropped_in_flat_encoding_and_padded_in_a_batch():
    encode = Integer("protein")
    tokens, offsets = encode.flat(["MK*", "*", "A"])
    assert (tokens.tolist(), offsets.tolist()) == ([10, 8, 0], [0, 2, 2, 3])
    assert encode("MK*").tolist() == [10, 8]
    assert encode.batch(["MK*"]).tolist() == [[10, 8]]
    assert encode.batch(["MK*"], length=3).tolist() == [[10, 8, encode.pad_value]]
    assert encode.count_unusual(["MK*", "*", "A"])["stops"] == 2


def test_an_ambiguity_code_becomes_the_mask_token_or_is_an_error():
    assert Integer("dna")("".join(BASES_OF_IUPAC_CODE)).tolist() == [4] * 11
    with pytest.raises(AlphabetError, match="rejects RYSWKMBDHVN"):
        Integer("dna", unknown="error")("ACN")


def test_padding_and_mask_tokens_are_part_of_the_vocabulary():
    encode = Integer("protein", symbols="keep", rare="keep")
    assert encode.letters == AMINO_ACIDS + "UO*-."
    assert (encode.mask_value, encode.pad_value, encode.vocabulary_size) == (25, 26, 27)
    assert encode("U-").tolist() == [20, 23]


@pytest.mark.parametrize(
    "options",
    [
        {"dtype": "float32"},
        {"dtype": "uint8", "padding": -1},
        {"dtype": "uint8", "padding": 256},
        {"unknown": "zeros"},
        {"rna_as_dna": True, "alphabet": "protein"},
        {"rare": "keep"},
        {"alphabet": "HEC", "symbols": "zeros"},
    ],
)
def test_an_invalid_option_of_the_integer_encoder_is_an_error(options):
    with pytest.raises(ArgumentError):
        Integer(**options)


def test_decoding_an_invalid_token_is_an_error():
    with pytest.raises(ArgumentError, match="tokens must be from 0 to 5"):
        Integer("dna").decode(np.array([[0, 9]]))


def test_an_integer_encoder_from_json_equals_the_original():
    encode = Integer("rna", padding=-1, case="mask")
    assert JsonConfig.from_json(encode.to_json()) == encode
