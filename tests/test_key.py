import json
import pickle

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from seqloom import Key
from seqloom.errors import ArgumentError

seeds = st.integers(0, 2**64 - 1)
words = st.one_of(st.integers(0, 2**62 - 1), st.text())


@given(seeds, words)
def test_integers_in_the_constructor_are_folded_into_the_key(seed, word):
    assert Key(seed, word) == Key(seed).fold(word)


def test_folded_keys_and_random_bits_equal_documented_values_of_jax():
    # jax.random.fold_in(jax.random.PRNGKey(0), 1), and the 32-bit numbers in the
    # documentation of jax.random.split(jax.random.PRNGKey(0)).
    assert Key(0).fold(1).words == (928981903, 3453687069)
    assert Key(0).bits(4).tolist() == [4146024105, 967050713, 2718843009, 1272950319]


def test_the_key_zero_gives_the_reference_numbers_of_random123():
    assert Key(0, 0).words == (0x6B200159, 0x99BA4EFE)


@given(seeds, st.integers(0, 2**62 - 1))
def test_folding_applies_threefry_to_the_halves_of_an_integer(seed, word):
    halves = [(n >> 32, n & 0xFFFFFFFF) for n in (seed, word)]
    assert Key(seed, word).words == reference_threefry(*halves)


def reference_threefry(key, count):
    """Threefry in Python, as in section 4.2 of Salmon (2011)."""
    keys = [*key, key[0] ^ key[1] ^ 0x1BD11BDA]
    x, y = ((c + k) & 0xFFFFFFFF for c, k in zip(count, keys, strict=False))
    for block in range(5):
        for turn in ((13, 15, 26, 6), (17, 29, 16, 24))[block % 2]:
            x = (x + y) & 0xFFFFFFFF
            y = (((y << turn) | (y >> (32 - turn))) & 0xFFFFFFFF) ^ x
        x = (x + keys[(block + 1) % 3]) & 0xFFFFFFFF
        y = (y + keys[(block + 2) % 3] + block + 1) & 0xFFFFFFFF
    return x, y


def test_keys_derived_by_fold_split_and_name_never_collide():
    key = Key(3)
    children = [key.fold(i) for i in range(50)] + key.split(50)
    children += [key.fold(str(i)) for i in range(50)]
    assert len(set(children)) == 150


def test_random_bits_are_generated_in_the_order_of_jax():
    got = Key(5).bits(6)
    pairs = [reference_threefry((0, 5), (i, i + 3)) for i in range(3)]
    assert got.tolist() == [*(a for a, _ in pairs), *(b for _, b in pairs)]


def test_uniform_numbers_have_the_mean_and_spread_of_the_uniform_distribution():
    drawn = Key(1).uniform(100_000)
    assert drawn.dtype == np.float32
    assert abs(drawn.mean() - 0.5) < 0.005
    assert abs(drawn.std() - 12**-0.5) < 0.005


@given(seeds)
def test_json_and_pickle_restore_a_key(seed):
    key = Key(seed)
    assert Key.from_json(json.loads(json.dumps(key.to_json()))) == key
    assert pickle.loads(pickle.dumps(key)) == key  # noqa: S301 - ours


def test_the_repr_of_a_key_recreates_the_key():
    assert eval(repr(Key(2**40, 1))) == Key(2**40, 1)  # noqa: S307 - the claim


@pytest.mark.parametrize("word", [-1, 2**64, 1.5, None])
def test_a_seed_outside_64_bits_is_an_error(word):
    with pytest.raises(ArgumentError, match="a word of a key must"):
        Key(word)


def test_numpy_integers_can_be_folded_into_a_key():
    assert Key(np.int64(7), np.uint8(3)) == Key(7, 3)


@settings(deadline=None)
@given(seeds, st.lists(st.integers(0, 2**62 - 1)))
def test_key_each_folds_each_integer_into_the_key(seed, numbers):
    rows = Key(seed).each(np.array(numbers, np.int64))
    assert rows.dtype == np.uint32
    assert rows.tolist() == [list(Key(seed, number).words) for number in numbers]


@pytest.mark.parametrize("words", [[-1], [2**62], [0.5], [[1, 2]], 3])
def test_key_each_accepts_only_a_1d_array_of_integers(words):
    with pytest.raises(ArgumentError):
        Key(0).each(words)
