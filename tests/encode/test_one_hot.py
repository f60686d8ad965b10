import pickle

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from seqloom._config import JsonConfig
from seqloom._ragged import Ragged
from seqloom.encode import OneHot
from seqloom.errors import AlphabetError, ArgumentError, ShapeError

BASES_OF_TWO_BASE_CODE = {"R": "AG", "Y": "CT", "S": "CG", "W": "AT", "K": "GT", "M": "AC"}
BASES_OF_IUPAC_CODE = BASES_OF_TWO_BASE_CODE | {
    "B": "CGT",
    "D": "AGT",
    "H": "ACT",
    "V": "ACG",
    "N": "ACGT",
}
dna = st.text("ACGT", max_size=40)


def reference(text, unknown):
    """Return a one-hot encoding (channels A, C, G, T) from a dictionary."""
    columns = []
    for letter in text.upper():
        members = letter if letter in "ACGT" else BASES_OF_IUPAC_CODE[letter]
        share = {"zeros": 0, "uniform": 1 / 4, "fractional": 1 / len(members)}[unknown]
        on = "ACGT" if unknown == "uniform" and letter not in "ACGT" else members
        value = 1 if letter in "ACGT" else share
        columns.append([value if base in on else 0 for base in "ACGT"])
    return np.array(columns, np.float32).reshape(-1, 4).T


@given(
    st.text("ACGTNRYSWKMBDHVacgtn", max_size=60),
    st.sampled_from(["zeros", "uniform", "fractional"]),
)
def test_one_hot_encoding_agrees_with_a_dictionary_lookup(text, unknown):
    np.testing.assert_array_equal(
        OneHot("dna", unknown=unknown)(text), reference(text, unknown)
    )


@given(
    st.lists(dna, max_size=8),
    st.sampled_from(["first", "last"]),
    st.sampled_from(["float32", "float64", "uint8"]),
)
def test_decode_restores_the_encoded_sequence(rows, channels, dtype):
    encode = OneHot("dna", channels=channels, dtype=dtype)
    array = encode.batch(rows, length=40)
    assert array.dtype == dtype
    assert encode.decode(array, lengths=map(len, rows)) == [row.encode() for row in rows]


@pytest.mark.parametrize("alphabet", ["dna", "rna", "protein", "iupac", "HEC"])
def test_decode_restores_every_residue_of_each_alphabet(alphabet):
    encode = OneHot(alphabet)
    assert encode.width == len(encode.letters)
    assert encode.decode(encode(encode.letters)) == [encode.letters.encode()]
    np.testing.assert_array_equal(encode(encode.letters), np.eye(encode.width))


def test_channels_last_encoding_is_the_transpose_of_channels_first():
    first, last = OneHot("dna"), OneHot("dna", channels="last")
    np.testing.assert_array_equal(first(b"ACGTN").T, last(b"ACGTN"))


@settings(max_examples=40)
@given(st.lists(dna, min_size=1, max_size=40), st.integers(1, 4))
def test_one_hot_encoding_does_not_depend_on_the_number_of_threads(rows, threads):
    ragged = Ragged.from_list(rows)
    one, several = (
        OneHot("dna").batch(ragged, length=40, num_threads=n) for n in (1, threads)
    )
    np.testing.assert_array_equal(one, several)


def test_encoding_into_an_array_overwrites_it_completely():
    out = np.full((2, 4, 3), 7, np.float32)
    assert OneHot("dna").batch(["ACG", "T"], length=3, out=out) is out
    np.testing.assert_array_equal(out, OneHot("dna").batch(["ACG", "T"], length=3))


@pytest.mark.parametrize(
    "out",
    [
        np.zeros((1, 4, 2), "f4"),
        np.zeros((2, 4, 2)),
        np.zeros((2, 2, 4), "f4").swapaxes(1, 2),
    ],
)
def test_encoding_into_an_array_of_wrong_shape_or_dtype_is_an_error(out):
    with pytest.raises(ShapeError, match="C-contiguous float32"):
        OneHot("dna").batch(["AC", "GT"], out=out)


def test_sequences_of_unequal_length_need_the_option_length():
    with pytest.raises(ShapeError, match="1 to 2 residues: pass length="):
        OneHot("dna").batch(["AC", "G"])


def test_a_sequence_longer_than_the_option_length_is_an_error():
    with pytest.raises(ShapeError, match="3 residues, more than length=2"):
        OneHot("dna").batch(["ACG"], length=2)


@pytest.mark.parametrize(
    ("text", "position", "letter"), [("ACJ", 2, "J"), ("A-C", 1, "-"), ("é", 0, "é")]
)
def test_an_invalid_character_is_an_error_with_its_position(text, position, letter):
    with pytest.raises(AlphabetError) as caught:
        OneHot("dna", unknown="zeros").batch(["ACG", text], length=3)
    assert (caught.value.record, caught.value.position) == (1, position)
    assert caught.value.character == letter


def test_the_option_unknown_error_forbids_ambiguity_codes():
    with pytest.raises(AlphabetError):
        OneHot("dna", unknown="error")("ACN")


@pytest.mark.parametrize(
    ("case", "column"), [("fold", [1, 0, 0, 0]), ("mask", [0, 0, 0, 0])]
)
def test_the_case_option_determines_the_meaning_of_lower_case(case, column):
    assert OneHot("dna", case=case)("a").ravel().tolist() == column


def test_lower_case_residues_can_be_forbidden():
    with pytest.raises(AlphabetError):
        OneHot("dna", case="error")("a")


def test_the_one_hot_encoder_counts_unusual_residues_by_category():
    counts = OneHot("dna").count_unusual(["ACNNRg", "n"])
    assert {name: count for name, count in counts.items() if count} == {
        "ambiguous": 4,
        "lower_case": 2,
    }


@pytest.mark.parametrize(
    "options",
    [
        {"alphabet": "AA"},
        {"unknown": "guess"},
        {"case": "swap"},
        {"channels": "middle"},
        {"dtype": "int8"},
        {"dtype": "uint8", "unknown": "uniform"},
    ],
)
def test_an_invalid_option_of_the_one_hot_encoder_is_an_error(options):
    with pytest.raises(ArgumentError):
        OneHot(**options)


def test_a_one_hot_encoder_from_json_equals_the_original():
    encode = OneHot("protein", channels="last", unknown="fractional")
    assert JsonConfig.from_json(encode.to_json()) == encode


def test_a_pickled_encoder_gives_the_same_arrays():
    encode = pickle.loads(pickle.dumps(OneHot("rna")))  # noqa: S301 - ours
    assert encode("ACGU").tolist() == np.eye(4).tolist()


def test_an_encoder_can_be_a_key_of_a_dict():
    assert {OneHot("dna"): 1}[OneHot("dna")] == 1


def test_decoding_the_wrong_number_of_channels_is_an_error():
    with pytest.raises(ShapeError, match="must have 4 channels, first"):
        OneHot("dna").decode(np.zeros((2, 5, 3)))


def test_the_refuses_method_of_an_encoder_returns_invalid_characters():
    encode = OneHot("dna")
    assert encode.refuses(bytes(range(65, 91))) == b"EFIJLOPQUXZ"


def test_a_dropped_stop_symbol_is_not_encoded():
    encode = OneHot("protein")
    assert encode("MK*").tolist() == encode("MK").tolist()
    assert encode.batch(["MK*", "MKV"], length=3)[0].sum() == 2
    with pytest.raises(ShapeError, match="2 to 3 residues"):
        encode.batch(["MK*", "MKV"])
