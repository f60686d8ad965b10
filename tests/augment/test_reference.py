"""Every augmentation equals its reference implementation, for one sequence and batches."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from augment.reference import (
    compose,
    crop,
    mask,
    mutate,
    quality_noise,
    reverse_complement,
    shift,
    shuffle_kmers,
)
from seqloom import Key
from seqloom._ragged import Ragged
from seqloom.augment import (
    Compose,
    Crop,
    Mask,
    Mutate,
    QualityNoise,
    ReverseComplement,
    Shift,
    ShuffleKmers,
)

AUGMENTATION_CASES: list[tuple[Any, Any, dict[str, Any]]] = [
    (ReverseComplement, reverse_complement, {}),
    (ReverseComplement, reverse_complement, {"p": 1, "alphabet": "rna"}),
    (Mutate, mutate, {"rate": 0.01}),
    (Mutate, mutate, {"rate": 1.0, "alphabet": "rna"}),
    (Mutate, mutate, {"rate": 0.2, "insertions": 0.2, "deletions": 0.2}),
    (Mutate, mutate, {"rate": 1 / 3, "insertions": 1 / 3, "deletions": 1 / 3}),
    (Mutate, mutate, {"insertions": 0.5, "alphabet": "protein"}),
    (Mutate, mutate, {"rate": 0.5, "alphabet": "Aa"}),
    (Mutate, mutate, {"rate": 0.5, "alphabet": "A"}),
    (Mask, mask, {}),
    (Mask, mask, {"rate": 2**-8, "letter": "x"}),
    (QualityNoise, quality_noise, {}),
    (Crop, crop, {"length": 7}),
    (Crop, crop, {"length": 8, "mode": "centre"}),
    (Crop, crop, {"length": 8, "mode": "start"}),
    (Shift, shift, {"max_shift": 3}),
    (Shift, shift, {"max_shift": 200, "letter": "-"}),
    (Shift, shift, {"max_shift": 30, "mode": "roll"}),
    (ShuffleKmers, shuffle_kmers, {}),
    (ShuffleKmers, shuffle_kmers, {"k": 2}),
    (ShuffleKmers, shuffle_kmers, {"k": 3}),
    (ShuffleKmers, shuffle_kmers, {"k": 5}),
]
PARAMETRIZE_AUGMENTATIONS = pytest.mark.parametrize(
    ("ours", "slow", "options"),
    AUGMENTATION_CASES,
    ids=[f"{p[0].__name__}{p[2]}" for p in AUGMENTATION_CASES],
)
keys = st.builds(Key, st.integers(0, 2**64 - 1))


@st.composite
def sequences(draw):
    """Random sequences with qualities."""
    size = draw(st.integers(0, 120))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    letters = rng.choice(list(draw(st.sampled_from(["ACGT", "AC", "ACGTNacgtnRU-"]))), size)
    quality = rng.integers(33, 127, size, np.uint8).tobytes()
    return "".join(letters).encode(), quality


def changed(slow, sequence, key):
    """Augment a sequence and its qualities with the reference implementation."""
    letters, quality = sequence
    pairs = slow(list(zip(letters.decode(), quality, strict=True)), key.words)
    return "".join(a for a, _ in pairs).encode(), bytes(q for _, q in pairs)


@PARAMETRIZE_AUGMENTATIONS
@settings(max_examples=12, deadline=None)
@given(sequence=sequences(), key=keys)
def test_augmented_sequences_agree_with_reference_code(ours, slow, options, sequence, key):
    expected = changed(lambda pairs, words: slow(pairs, words, **options), sequence, key)
    assert ours(**options)(sequence[0], key, quality=sequence[1]) == expected


@settings(max_examples=20, deadline=None)
@given(sequence=sequences(), key=keys)
def test_compose_derives_the_key_of_each_augmentation_from_its_index(sequence, key):
    members = [
        (ours, slow, options)
        for ours, slow, options in AUGMENTATION_CASES
        if "alphabet" not in options
    ]
    ours = Compose([make(**options) for make, _, options in members])
    expected = changed(
        lambda pairs, words: compose(pairs, words, [member[1:] for member in members]),
        sequence,
        key,
    )
    assert ours(sequence[0], key, quality=sequence[1]) == expected


@PARAMETRIZE_AUGMENTATIONS
@settings(max_examples=5, deadline=None)
@given(
    rows=st.lists(sequences(), max_size=9),
    seed=st.integers(0, 9),
    num_threads=st.sampled_from([None, 1, 2, 3]),
)
def test_augmenting_a_batch_equals_augmenting_each_sequence_alone(
    ours, slow, options, rows, seed, num_threads
):
    change, key = ours(**options), Key(seed, 1)
    letters, qualities = (
        Ragged.from_list(part) for part in ([r[0] for r in rows], [r[1] for r in rows])
    )
    got = change.batch(
        letters, key.each(range(len(rows))), qualities=qualities, num_threads=num_threads
    )
    alone = [change(a, key.fold(i), quality=q) for i, (a, q) in enumerate(rows)]
    assert list(zip(*(part.to_list() for part in got), strict=True)) == alone


@PARAMETRIZE_AUGMENTATIONS
def test_quality_scores_do_not_affect_the_augmented_residues(ours, slow, options):
    if ours is not QualityNoise:
        change, letters = ours(**options), b"ACGTTGCAACGTNNAC" * 5
        assert change(letters, Key(4)) == change(letters, Key(4), quality=bytes(80))[0]
