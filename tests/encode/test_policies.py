"""Every option of every encoder has the result that a table in this file expects."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from encode_oracle import AMINO_ACIDS, AMINO_ACIDS_OF_CODE
from seqloom._ragged import Ragged
from seqloom.encode import Integer, Kmer, OneHot, Quality, Tokens
from seqloom.errors import AlphabetError, ArgumentError, ShapeError

ENCODERS_WITH_VARIED_OPTIONS = [
    OneHot("dna"),
    OneHot("dna", channels="last", unknown="fractional"),
    OneHot("protein", dtype="float16"),
    Integer("dna", dtype="int32"),
    Kmer(3),
    Kmer(2, counts=True),
    Tokens("esm2"),
    Tokens("dna", k=3, stride=2),
    Quality(),
]


def unusual(encode, *texts):
    return {name: count for name, count in encode.count_unusual(texts).items() if count}


def test_the_base_u_in_dna_is_an_error_with_a_hint():
    with pytest.raises(
        AlphabetError, match=r"rna_as_dna=True \(--rna-as-dna, of train\), which reads it"
    ):
        OneHot("dna")("ACU")


@pytest.mark.parametrize("text", ["ACU", "acu"])
def test_the_option_rna_as_dna_reads_u_as_t_and_counts_u(text):
    encode = OneHot("dna", rna_as_dna=True)
    np.testing.assert_array_equal(encode(text), OneHot("dna")("ACT"))
    assert unusual(encode, text)["rna"] == 1


@pytest.mark.parametrize("code", AMINO_ACIDS_OF_CODE)
def test_a_protein_ambiguity_code_is_divided_among_its_residues(code):
    row = OneHot("protein", unknown="fractional", dtype="float64")(code).ravel()
    share = 1 / len(AMINO_ACIDS_OF_CODE[code])
    assert row.tolist() == [
        share if it in AMINO_ACIDS_OF_CODE[code] else 0 for it in AMINO_ACIDS
    ]


@pytest.mark.parametrize(
    ("rare", "column"),
    [
        ("zeros", [0] * 20),
        ("unknown", [1 / 20] * 20),
        ("replace", [int(letter == "C") for letter in AMINO_ACIDS]),
        ("keep", [*[0] * 20, 1, 0]),
    ],
)
def test_the_option_rare_determines_the_encoding_of_selenocysteine(rare, column):
    encode = OneHot("protein", rare=rare, unknown="fractional", dtype="float64")
    assert encode("U").ravel().tolist() == column
    assert unusual(encode, "U") == {"rare": 1}


def test_rare_residues_are_an_error_by_default_with_a_remedy():
    with pytest.raises(AlphabetError, match=r"rare='replace' \(--rare replace, of train\)"):
        OneHot("protein")("MO")


def test_the_option_unknown_also_applies_to_rare_residues_read_as_unknown():
    with pytest.raises(AlphabetError):
        OneHot("protein", rare="unknown", unknown="error")("U")


@pytest.mark.parametrize(
    ("symbols", "text", "ones"),
    [
        ("strip_terminal_stop", "MK*", 2),
        ("zeros", "M*-.K", 2),
        ("keep", "M*-.K", 5),
    ],
)
def test_the_option_symbols_determines_the_encoding_of_gaps_and_stops(symbols, text, ones):
    encode = OneHot("protein", symbols=symbols)
    assert encode(text).sum() == ones
    assert sum(unusual(encode, text).values()) == (1 if "strip" in symbols else 3)


@pytest.mark.parametrize(
    ("symbols", "text", "position"),
    [
        ("strip_terminal_stop", "M*K*", 1),
        ("strip_terminal_stop", "MK-", 2),
        ("error", "MK*", 2),
        ("error", ".", 0),
    ],
)
def test_a_gap_or_stop_symbol_that_is_not_accepted_is_an_error(symbols, text, position):
    with pytest.raises(AlphabetError) as caught:
        OneHot("protein", symbols=symbols)(text)
    assert caught.value.position == position


def test_gaps_of_aligned_dna_can_be_zeros_or_channels():
    assert OneHot("dna", symbols="zeros")("A-").sum() == 1
    assert OneHot("dna", symbols="keep").letters == "ACGT-."


@pytest.mark.parametrize("encode", ENCODERS_WITH_VARIED_OPTIONS, ids=repr)
@settings(max_examples=20)
@given(data=st.data())
def test_no_encoding_depends_on_the_number_of_threads(encode, data):
    letters = "ACGTN" if not isinstance(encode, Quality) else "!+5I"
    texts = data.draw(st.lists(st.text(letters, max_size=90), min_size=1, max_size=30))
    length = max(int(encode.places(90)), 1)
    one, two = (encode.batch(texts, length=length, num_threads=n) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("encode", ENCODERS_WITH_VARIED_OPTIONS, ids=repr)
def test_one_and_two_threads_encode_a_large_batch_equally(encode):
    letters = b"ACGTA" if not isinstance(encode, Quality) else b"!+5I?"
    rows = Ragged.from_list([letters * 40] * 700)
    one, two = (encode.batch(rows, num_threads=n) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("encode", ENCODERS_WITH_VARIED_OPTIONS, ids=repr)
def test_batches_and_single_sequences_can_be_encoded_into_an_array(encode):
    expected = encode.batch(["ACGTA", "ACA"], length=70)
    out = np.full(expected.shape, 7, expected.dtype)
    assert encode.batch(["ACGTA", "ACA"], length=70, out=out) is out
    np.testing.assert_array_equal(out, expected)
    single = np.full_like(encode("ACGTA"), 7)
    assert encode("ACGTA", out=single) is single
    np.testing.assert_array_equal(single, encode("ACGTA"))


@pytest.mark.parametrize("encode", ENCODERS_WITH_VARIED_OPTIONS, ids=repr)
def test_encoding_into_an_array_of_wrong_shape_or_dtype_is_an_error(encode):
    right = encode.batch(["ACGTA"])
    locked = right.copy()
    locked.flags.writeable = False
    wrong = [right[:, :-1], right.astype("int16"), np.zeros((2, *right.shape[1:])), locked]
    for out in wrong:
        with pytest.raises(ShapeError, match="out must be"):
            encode.batch(["ACGTA"], out=out)


@pytest.mark.parametrize("encode", ENCODERS_WITH_VARIED_OPTIONS, ids=repr)
def test_encoding_no_sequences_returns_an_empty_batch(encode):
    places = 0 if not encode.places(0) else int(encode.places(0))
    assert encode.batch([], length=places).shape == encode.shape(0, places)


@pytest.mark.parametrize("encode", ENCODERS_WITH_VARIED_OPTIONS, ids=repr)
def test_the_shape_and_places_methods_give_the_shape_of_a_batch(encode):
    places = int(encode.places(9))
    assert encode.batch(["ACGTACGTA"] * 2).shape == encode.shape(2, places)


@pytest.mark.parametrize("encode", ENCODERS_WITH_VARIED_OPTIONS, ids=repr)
def test_the_refuses_method_lists_the_characters_that_raise_an_error(encode):
    refused = encode.refuses(bytes(range(1, 127)))
    for letter in range(1, 127):
        text = bytes([letter]) * 3
        fails = letter in refused
        if fails or (letter == ord("*") and not isinstance(encode, Quality)):
            with pytest.raises(AlphabetError):
                encode(text)
        else:
            encode(text)


@pytest.mark.parametrize("name", ["nucleic", "", "AA", "A C"])
def test_an_encoder_with_an_invalid_alphabet_is_an_error(name):
    with pytest.raises(ArgumentError):
        Integer(name)


@pytest.mark.parametrize("make", [OneHot, Integer, lambda name: Kmer(2, alphabet=name)])
@pytest.mark.parametrize("name", ["DNA", "RNA", "Protein", "PROTEIN", "IUPAC"])
def test_the_name_of_an_alphabet_in_upper_case_is_an_error(make, name):
    with pytest.raises(ArgumentError, match=f'did you mean "{name.lower()}"'):
        make(name)


@pytest.mark.parametrize(
    ("dtype", "unknown"),
    [("float16", "fractional"), ("int64", "zeros"), ("int32", "zeros")],
)
def test_an_encoding_has_equal_values_in_every_dtype(dtype, unknown):
    text = "ACGTNRY" * 30
    double = OneHot("dna", dtype="float64", unknown=unknown)(text)
    np.testing.assert_array_equal(
        OneHot("dna", dtype=dtype, unknown=unknown)(text), double.astype(dtype)
    )


def test_a_lone_surrogate_is_an_invalid_alphabet():
    with pytest.raises(ArgumentError, match="alphabet must be a name or its characters"):
        OneHot("AC\ud800")
