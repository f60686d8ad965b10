import numpy as np
import pytest
from hypothesis import given, strategies as st

from encode_oracle import AMINO_ACIDS, canonical, number, padded, words
from seqloom._config import JsonConfig
from seqloom.encode import Kmer
from seqloom.errors import AlphabetError, ArgumentError

dna = st.text("ACGTNacgt", max_size=120)


@given(st.lists(dna, min_size=1, max_size=5), st.integers(1, 9), st.integers(1, 11))
def test_each_kmer_is_encoded_as_its_number(texts, k, stride):
    slow = [
        [4**k if (it := number(word)) is None else it for word in words(text, k, stride)]
        for text in (text.upper() for text in texts)
    ]
    fast = Kmer(k, stride=stride).batch(texts, length=120)
    assert fast.tolist() == padded(slow, 120, 4**k + 1)


@given(dna, st.integers(1, 6), st.sampled_from(["float32", "float64", "int64", "int32"]))
def test_the_option_counts_counts_the_occurrences_of_each_kmer(text, k, dtype):
    slow = np.zeros(4**k, dtype)
    for word in words(text.upper(), k):
        if number(word) is not None:
            slow[number(word)] += 1
    fast = Kmer(k, counts=True, dtype=dtype)(text)
    assert fast.dtype == dtype
    np.testing.assert_array_equal(fast, slow)


@given(st.text("ACGT", min_size=5, max_size=80), st.integers(1, 5))
def test_a_canonical_kmer_is_the_smaller_of_kmer_and_complement(text, k):
    slow = [number(canonical(word)) for word in words(text, k)]
    assert Kmer(k, canonical=True)(text).tolist() == slow
    other = text.translate(str.maketrans("ACGT", "TGCA"))[::-1]
    both = Kmer(k, canonical=True, counts=True)
    np.testing.assert_array_equal(both(text), both(other))


@given(st.text(AMINO_ACIDS, max_size=40), st.integers(1, 4))
def test_protein_kmers_are_numbered_in_base_twenty(text, k):
    slow = [number(word, AMINO_ACIDS) for word in words(text, k)]
    assert Kmer(k, "protein")(text).tolist() == slow


@given(st.text("ACGT", max_size=60), st.integers(1, 6), st.data())
def test_decode_restores_a_sequence_from_overlapping_or_adjacent_kmers(text, k, data):
    stride = data.draw(st.integers(1, k))
    covered = (len(text) - k) // stride * stride + k if len(text) >= k else 0
    encode = Kmer(k, stride=stride)
    array = encode.batch([text], length=60)
    assert encode.decode(array) == [text[:covered].encode()]


def test_decode_writes_n_for_residues_without_a_valid_kmer():
    encode = Kmer(3)
    assert encode.decode(encode("ACGNTAC")) == [b"ACGNTAC"]
    with pytest.raises(ArgumentError, match="lose residues"):
        Kmer(3, canonical=True).decode(np.zeros(4))


def test_kmers_of_30_bases_fit_a_token_and_longer_ones_are_an_error():
    assert Kmer(30)("T" * 31).tolist() == [4**30 - 1] * 2
    with pytest.raises(ArgumentError, match="cannot hold"):
        Kmer(32)


def test_a_kmer_with_an_ambiguity_code_can_be_an_error():
    with pytest.raises(AlphabetError):
        Kmer(3, unknown="error")("ACNT")


@pytest.mark.parametrize(
    "options",
    [
        {"k": 0},
        {"k": 3, "stride": 0},
        {"k": 3, "alphabet": "protein", "canonical": True},
        {"k": 14, "counts": True},
        {"k": 4, "dtype": "uint8"},
        {"k": 2, "dtype": "float32"},
        {"k": 2, "counts": True, "dtype": "uint8"},
    ],
)
def test_an_invalid_option_of_the_kmer_encoder_is_an_error(options):
    with pytest.raises(ArgumentError):
        Kmer(**options)


@pytest.mark.parametrize("counts", [False, True])
def test_the_kmer_encoder_counts_unusual_residues(counts):
    found = Kmer(2, counts=counts).count_unusual(["ACNa"])
    assert (found["ambiguous"], found["lower_case"]) == (1, 1)


def test_a_kmer_encoder_from_json_equals_the_original():
    encode = Kmer(4, canonical=True, counts=True)
    assert JsonConfig.from_json(encode.to_json()) == encode
