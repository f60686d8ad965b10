"""Augmentations change the expected fraction of residues, at uniformly random positions."""

from collections import Counter
from itertools import pairwise, permutations

import numpy as np
import pytest
from Bio.Seq import Seq
from scipy.stats import chisquare

from seqloom import Key
from seqloom._ragged import Ragged, lengths_to_offsets
from seqloom.augment import (
    Crop,
    Mask,
    Mutate,
    QualityNoise,
    ReverseComplement,
    Shift,
    ShuffleKmers,
)

COUNT, LENGTH = 2000, 100
KEY_OF_EACH_SEQUENCE = Key(11, 3).each(range(COUNT))
POLY_A_READS = Ragged(
    np.full(COUNT * LENGTH, ord("A"), np.uint8), lengths_to_offsets(np.full(COUNT, LENGTH))
)


def within_five_sigma(hits, trials, rate):
    """Return whether a count is within five standard deviations of the expected count."""
    return abs(hits - trials * rate) <= 5 * (trials * rate * (1 - rate)) ** 0.5


@pytest.mark.parametrize("rate", [0.0001, 2**-8, 0.01, 0.15, 0.5, 0.999])
def test_residues_are_masked_at_the_given_rate(rate):
    hidden = (Mask(rate).batch(POLY_A_READS, KEY_OF_EACH_SEQUENCE).data == ord("N")).sum()
    assert within_five_sigma(hidden, POLY_A_READS.data.size, rate)


def test_substitutions_occur_at_the_given_rate_and_are_uniform():
    changed = Mutate(0.1).batch(POLY_A_READS, KEY_OF_EACH_SEQUENCE).data
    counts = Counter(changed.tobytes().decode())
    new = [counts[letter] for letter in "CGT"]
    assert within_five_sigma(sum(new), changed.size, 0.1)
    assert chisquare(new).pvalue > 1e-6


def test_insertions_and_deletions_occur_at_the_given_rates():
    added = (
        Mutate(insertions=0.03).batch(POLY_A_READS, KEY_OF_EACH_SEQUENCE).data.size
        - POLY_A_READS.data.size
    )
    lost = (
        POLY_A_READS.data.size
        - Mutate(deletions=0.02).batch(POLY_A_READS, KEY_OF_EACH_SEQUENCE).data.size
    )
    assert within_five_sigma(added, POLY_A_READS.data.size, 0.03)
    assert within_five_sigma(lost, POLY_A_READS.data.size, 0.02)


@pytest.mark.parametrize("quality", [0, 2, 10, 20, 30])
def test_quality_noise_occurs_at_the_error_probability(quality):
    qualities = Ragged(
        np.full(POLY_A_READS.data.size, 33 + quality, np.uint8), POLY_A_READS.offsets
    )
    changed, same = QualityNoise().batch(
        POLY_A_READS, KEY_OF_EACH_SEQUENCE, qualities=qualities
    )
    assert same.data.tobytes() == qualities.data.tobytes()
    assert within_five_sigma(
        (changed.data != ord("A")).sum(),
        POLY_A_READS.data.size,
        min(10 ** (-quality / 10), 1 - 1e-9),
    )


def test_sequences_are_reverse_complemented_with_probability_p():
    rows = Ragged.from_list([b"AC"] * COUNT)
    turned = (
        ReverseComplement(p=0.3).batch(rows, KEY_OF_EACH_SEQUENCE).to_list().count(b"GT")
    )
    assert within_five_sigma(turned, COUNT, 0.3)


def test_neighbouring_residues_are_changed_independently():
    hidden = Mask(0.5).batch(POLY_A_READS, KEY_OF_EACH_SEQUENCE).data == ord("N")
    for distance in (1, 7, 8, 63, 64):
        agree = (hidden[distance:] == hidden[:-distance]).sum()
        assert within_five_sigma(agree, hidden.size - distance, 0.5)


def test_crop_positions_are_uniformly_distributed():
    rows = Ragged.from_list([bytes(range(65, 85))] * COUNT)
    starts = Crop(11).batch(rows, KEY_OF_EACH_SEQUENCE).data[::11]
    assert sorted(set(starts.tolist())) == list(range(65, 75))
    assert chisquare(np.bincount(starts)[65:]).pvalue > 1e-6


def test_shifts_are_uniformly_distributed():
    rows = Ragged.from_list([b"ACGTACGA"] * COUNT)
    rolled = Counter(Shift(3, mode="roll").batch(rows, KEY_OF_EACH_SEQUENCE).to_list())
    assert len(rolled) == 7
    assert chisquare(list(rolled.values())).pvalue > 1e-6


def shuffles_of(letters, k):
    """Return all sequences with the same k-mers and the same ends, by exhaustive search."""

    def words(text):
        return sorted(text[i : i + k] for i in range(len(text) - k + 1))

    found = {"".join(p) for p in permutations(letters)}
    return {text for text in found if words(text) == words(letters)}


@pytest.mark.parametrize(("letters", "k"), [("ACGT", 1), ("AACGACAT", 2), ("ABAABABBA", 3)])
def test_every_shuffle_is_equally_likely(letters, k):
    keys = Key(5).each(range(6000))
    rows = Ragged.from_list([letters] * 6000)
    drawn = Counter(row.decode() for row in ShuffleKmers(k).batch(rows, keys).to_list())
    assert set(drawn) == shuffles_of(letters, k)
    assert len(drawn) > 1
    assert chisquare(list(drawn.values())).pvalue > 1e-6


def test_a_dinucleotide_shuffle_preserves_the_counts_of_dinucleotides():
    letters = Key(1).bits(3000).astype(np.uint8) % 4
    before = bytes(b"ACGT"[letter] for letter in letters)
    after = ShuffleKmers(2)(before, Key(2))
    assert Counter(pairwise(after)) == Counter(pairwise(before))
    assert after != before


def test_complements_agree_with_biopython():
    letters = b"ACGTRYSWKMBDHVNacgtryswkmbdhvn-."
    turned = ReverseComplement(p=1)(letters, Key(0))
    assert turned == bytes(Seq(letters).reverse_complement())
    rna = ReverseComplement(p=1, alphabet="rna")(letters.replace(b"T", b"U"), Key(0))
    assert rna == bytes(Seq(letters.replace(b"T", b"U")).reverse_complement_rna())
