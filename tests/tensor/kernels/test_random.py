"""Random numbers that are computed from a key, compared with jax.random."""

import math

import jax
import numpy as np
import pytest

from kernel_oracle import both_threads
from seqloom import Key
from seqloom.tensor import backend

RANDOM_KEYS = [Key(0), Key(7), Key(2**63 + 5, 3)]
keys = pytest.mark.parametrize("key", RANDOM_KEYS, ids=str)
shapes = pytest.mark.parametrize("shape", [(5000,), (3, 7, 11), (), (0,), (1,)], ids=str)


def jax_key(key: Key) -> jax.Array:
    return jax.random.wrap_key_data(
        jax.numpy.asarray(key.words, "uint32"), impl="threefry2x32"
    )


@keys
@both_threads
@shapes
def test_random_bits_and_uniform_numbers_equal_jax(
    key: Key, shape: tuple[int, ...], threads: int
) -> None:
    b = backend("numpy", num_threads=threads)
    bits = jax.random.bits(jax_key(key), shape)
    np.testing.assert_array_equal(b.random_bits(key, shape), bits)
    np.testing.assert_array_equal(
        b.uniform(key, shape), jax.random.uniform(jax_key(key), shape)
    )


@keys
@shapes
def test_uniform_float64_numbers_equal_jax(key: Key, shape: tuple[int, ...]) -> None:
    with jax.enable_x64(True):  # noqa: FBT003 - jax takes it by position only
        expected = np.asarray(jax.random.uniform(jax_key(key), shape, "float64"))
    found = backend("numpy").uniform(key, shape, dtype="float64")
    np.testing.assert_array_equal(found, expected)


@keys
@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 0.9999999, 1.0])
def test_bernoulli_numbers_equal_jax(key: Key, p: float) -> None:
    expected = jax.random.bernoulli(jax_key(key), p, (10_000,))
    np.testing.assert_array_equal(backend("numpy").bernoulli(key, p, (10_000,)), expected)


@keys
@pytest.mark.parametrize(
    ("low", "high"), [(0, 10), (-5, 3), (0, 2**31 - 1), (4, 5), (-(2**31), 2**31 - 1)]
)
def test_random_integers_equal_jax(key: Key, low: int, high: int) -> None:
    expected = jax.random.randint(jax_key(key), (5000,), low, high, "int32")
    found = backend("numpy").randint(key, low, high, (5000,))
    np.testing.assert_array_equal(found, expected)


@keys
@pytest.mark.parametrize("n", [0, 1, 2, 1000, 5000])
def test_permutations_equal_jax(key: Key, n: int) -> None:
    expected = jax.random.permutation(jax_key(key), n)
    np.testing.assert_array_equal(backend("numpy").permutation(key, n), expected)


@keys
@both_threads
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_normal_numbers_equal_jax_within_4_units_in_the_last_place(
    key: Key, dtype: str, threads: int
) -> None:
    with jax.enable_x64(dtype == "float64"):
        expected = np.asarray(jax.random.normal(jax_key(key), (100_000,), dtype))
    found = backend("numpy", num_threads=threads).normal(key, (100_000,), dtype=dtype)
    np.testing.assert_array_max_ulp(found, expected, maxulp=4)


@keys
@pytest.mark.parametrize(("lower", "upper"), [(-2.0, 2.0), (-1.0, 0.5), (0.25, 3.0)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_truncated_normal_numbers_equal_jax_within_4_units_in_the_last_place(
    key: Key, lower: float, upper: float, dtype: str
) -> None:
    with jax.enable_x64(dtype == "float64"):
        expected = np.asarray(
            jax.random.truncated_normal(jax_key(key), lower, upper, (100_000,), dtype)
        )
    found = backend("numpy").truncated_normal(key, lower, upper, (100_000,), dtype=dtype)
    np.testing.assert_array_max_ulp(found, expected, maxulp=4)


def test_normal_numbers_are_finite() -> None:
    found = backend("numpy").normal(Key(0), (1 << 20,))
    assert np.isfinite(found).all()
    assert abs(float(found.mean())) < 4 / math.sqrt(1 << 20)


@keys
@both_threads
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dropout_keeps_the_values_that_jax_keeps(
    key: Key, dtype: type, threads: int
) -> None:
    x = np.random.default_rng(0).standard_normal((70, 90)).astype(dtype)
    kept = np.asarray(jax.random.bernoulli(jax_key(key), 1 - 0.1, x.shape))
    expected = np.where(kept, x * dtype(1 / (1 - 0.1)), 0)
    found = backend("numpy", num_threads=threads).dropout(x, key, 0.1)
    np.testing.assert_array_equal(found, expected)


def test_dropout_sets_infinity_to_zero() -> None:
    x = np.full((100,), np.inf, np.float32)
    found = backend("numpy").dropout(x, Key(0), 0.5)
    assert set(found.tolist()) == {0.0, np.inf}


def test_a_random_key_may_be_a_tuple_of_two_words() -> None:
    b, words = backend("numpy"), np.asarray(Key(7).words, np.uint32)
    np.testing.assert_array_equal(b.uniform(words, (5,)), b.uniform(Key(7), (5,)))
