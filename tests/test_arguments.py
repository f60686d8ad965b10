"""Validation of the arguments of public functions."""

import numpy as np
import pytest

from seqloom._arguments import (
    as_bool,
    as_choice,
    as_integer,
    as_number,
    as_path,
    as_seed,
    quote,
)
from seqloom.errors import ArgumentError


def test_a_long_value_is_shortened_to_one_line():
    assert quote("20") == "'20'"
    assert len(quote("A" * 1000)) == 60


def test_numpy_integers_are_integers():
    assert as_integer("epochs", np.int64(20), least=1) == 20
    assert as_number("lr", np.float64(0.5)) == 0.5


def test_a_seed_is_a_64_bit_integer():
    assert as_seed(2**64 - 1) == 2**64 - 1
    with pytest.raises(ArgumentError, match=r"seed must be below 2\*\*64"):
        as_seed(2**64)


def test_the_integers_1_and_0_are_accepted_as_booleans():
    assert as_bool("shuffle", 1) is True


def test_a_string_must_be_one_of_the_choices():
    assert as_choice("unlabelled", "skip", ("error", "skip")) == "skip"
    with pytest.raises(ArgumentError, match='must be "error" or "skip", got 1'):
        as_choice("unlabelled", 1, ("error", "skip"))


def test_a_path_may_be_bytes():
    assert str(as_path("out", b"runs/splice")) == "runs/splice"
