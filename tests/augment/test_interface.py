import pickle
from typing import Any

import numpy as np
import pytest

from seqloom import Key
from seqloom._config import JsonConfig
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
from seqloom.errors import AlphabetError, ArgumentError, ShapeError

INVALID_OPTIONS: list[tuple[Any, dict[str, Any]]] = [
    (ReverseComplement, {"p": 1.1}),
    (ReverseComplement, {"alphabet": "protein"}),
    (Mutate, {"rate": -0.1}),
    (Mutate, {"rate": float("nan")}),
    (Mutate, {"rate": 0.5, "insertions": 0.3, "deletions": 0.3}),
    (Mutate, {"alphabet": "AA"}),
    (Mutate, {"alphabet": "DNA"}),
    (QualityNoise, {"alphabet": "Protein"}),
    (Mask, {"rate": 2}),
    (Mask, {"letter": "NN"}),
    (Mask, {"letter": "é"}),
    (Crop, {"length": 0}),
    (Crop, {"length": 5, "mode": "left"}),
    (Shift, {"max_shift": -1}),
    (Shift, {"max_shift": 1, "mode": "away"}),
    (ShuffleKmers, {"k": 0}),
    (QualityNoise, {"offset": 50}),
    (Compose, {"members": [str.upper]}),
]


@pytest.mark.parametrize(("make", "options"), INVALID_OPTIONS, ids=str)
def test_invalid_augmentation_options_are_an_error(make, options):
    with pytest.raises(ArgumentError):
        make(**options)


def test_a_mutation_rate_outside_0_to_1_is_an_error():
    with pytest.raises(ValueError, match=r"insertions must be from 0 to 1, got 1\.5"):
        Mutate(insertions=1.5)


ALL_AUGMENTATIONS = Compose(
    [
        ReverseComplement(),
        Compose([Mutate(0.1, insertions=0.1), Mask(0.1)]),
        Crop(9),
        Shift(2),
        ShuffleKmers(2),
        QualityNoise(),
    ]
)


def test_json_and_pickle_restore_an_augmentation():
    assert JsonConfig.from_json(ALL_AUGMENTATIONS.to_json()) == ALL_AUGMENTATIONS
    assert pickle.loads(pickle.dumps(ALL_AUGMENTATIONS)) == ALL_AUGMENTATIONS  # noqa: S301 - ours


def test_a_character_without_a_complement_is_an_error_that_names_the_record():
    rows = Ragged.from_list([b"ACGT", b"ACE"])
    with pytest.raises(AlphabetError) as raised:
        ReverseComplement(p=0).batch(rows, Key(0).each([0, 1]))
    error = raised.value
    assert (error.record, error.position, error.character) == (1, 2, "E")


def test_quality_noise_without_qualities_is_an_error_with_a_remedy():
    with pytest.raises(ArgumentError, match="quality="):
        QualityNoise()(b"ACGT", Key(0))


def test_a_quality_score_outside_its_encoding_is_an_error_with_its_position():
    with pytest.raises(ArgumentError, match=r"sequence 0, position 2: .* found 32"):
        QualityNoise()(b"ACGT", Key(0), quality=b"II I")


def test_augmentation_needs_one_key_and_quality_string_per_sequence():
    rows = Ragged.from_list([b"ACGT", b"AC"])
    wrong: Any = np.zeros((2, 2))
    with pytest.raises(ShapeError, match=r"shape \(2, 2\)"):
        Crop(1).batch(rows, Key(0).each([1]))
    with pytest.raises(ShapeError, match="uint32"):
        Crop(1).batch(rows, wrong)
    with pytest.raises(ShapeError, match="one quality"):
        Crop(1).batch(rows, Key(0).each([1, 2]), qualities=Ragged.from_list([b"I", b"II"]))
    with pytest.raises(ShapeError, match=r"must have 4 bytes, .*; got 1"):
        Crop(1)(b"ACGT", Key(0), quality=b"I")


def test_a_slice_of_a_ragged_array_is_augmented_without_a_copy():
    rows = Ragged.from_list([b"AC", b"GGT", b"TTTA"])
    keys = Key(0).each([1, 2])
    turned = ReverseComplement(p=1).batch(rows[1:], keys)
    assert turned.to_list() == [b"ACC", b"TAAA"]


def test_results_of_two_augmentation_calls_never_share_memory():
    rows = Ragged.from_list([b"ACGT" * 20] * 50)
    change = Mutate(0.3)
    kept = [change.batch(rows, Key(0, i).each(range(50))) for i in range(20)]
    again = [change.batch(rows, Key(0, i).each(range(50))) for i in range(20)]
    assert [k.to_list() for k in kept] == [a.to_list() for a in again]


def test_augmenting_no_sequences_returns_no_sequences():
    empty = Ragged.from_list([])
    assert (
        ALL_AUGMENTATIONS.batch(empty, Key(0).each([]), qualities=empty)[0].to_list() == []
    )
    assert Compose([])(b"ACGT", Key(0)) == b"ACGT"
