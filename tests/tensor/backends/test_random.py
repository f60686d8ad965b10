"""Random numbers are equal to the bit on every backend and in jax.random."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import seqloom as sl
from backend_oracle import everywhere, found, wide
from seqloom.errors import ArgumentError

RANDOM_KEY = sl.Key(3)
JAX_KEY = jax.random.wrap_key_data(
    jnp.array(RANDOM_KEY.words, jnp.uint32), impl="threefry2x32"
)
SAMPLE_SHAPE = (31, 7)


def numbers(b, x):
    return np.asarray(b.to_numpy(x))


FUNCTIONS_EQUAL_TO_JAX = {
    "random_bits": (
        lambda b, key: b.random_bits(key, SAMPLE_SHAPE),
        lambda k: jax.random.bits(k, SAMPLE_SHAPE),
    ),
    "uniform": (
        lambda b, key: b.uniform(key, SAMPLE_SHAPE),
        lambda k: jax.random.uniform(k, SAMPLE_SHAPE),
    ),
    "bernoulli": (
        lambda b, key: b.bernoulli(key, 0.3, SAMPLE_SHAPE),
        lambda k: jax.random.bernoulli(k, np.float32(0.3), SAMPLE_SHAPE),
    ),
    "randint": (
        lambda b, key: b.randint(key, -5, 1000, SAMPLE_SHAPE),
        lambda k: jax.random.randint(k, SAMPLE_SHAPE, -5, 1000),
    ),
    "wide randint": (
        lambda b, key: b.randint(key, 0, 2**31 - 1, SAMPLE_SHAPE),
        lambda k: jax.random.randint(k, SAMPLE_SHAPE, 0, 2**31 - 1),
    ),
    "permutation": (
        lambda b, key: b.permutation(key, 2000),
        lambda k: jax.random.permutation(k, 2000),
    ),
    "permutation of one": (
        lambda b, key: b.permutation(key, 1),
        lambda k: jax.random.permutation(k, 1),
    ),
}


@everywhere
@pytest.mark.parametrize(
    ("ours", "theirs"), FUNCTIONS_EQUAL_TO_JAX.values(), ids=FUNCTIONS_EQUAL_TO_JAX
)
def test_random_numbers_equal_those_of_jax(ours, theirs, name):
    b, expected = found(name), np.asarray(theirs(JAX_KEY))
    got = numbers(b, ours(b, RANDOM_KEY))
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got, expected)


@everywhere
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_uniform_numbers_of_other_types_equal_those_of_jax(dtype, name):
    if name == "strict" and dtype != "float64":
        pytest.skip("the standard has no half precision")
    with jax.enable_x64(dtype == "float64"):
        b, expected = found(name), jax.random.uniform(JAX_KEY, SAMPLE_SHAPE, dtype)
        got = numbers(b, b.uniform(RANDOM_KEY, SAMPLE_SHAPE, dtype=dtype))
    np.testing.assert_array_equal(got, np.asarray(expected))


@everywhere
def test_a_random_key_may_be_an_array_of_two_words(name):
    b = found(name)
    words = b.asarray(np.array(RANDOM_KEY.words, np.uint32))
    one, two = b.uniform(RANDOM_KEY, (5,)), b.uniform(words, (5,))
    np.testing.assert_array_equal(numbers(b, one), numbers(b, two))


@everywhere
def test_fold_in_and_split_give_the_keys_of_the_class_key(name):
    b = found(name)
    assert tuple(numbers(b, b.fold_in(RANDOM_KEY, 7)).tolist()) == RANDOM_KEY.fold(7).words
    assert (
        tuple(numbers(b, b.fold_in(RANDOM_KEY, "head")).tolist())
        == RANDOM_KEY.fold("head").words
    )
    split = [tuple(row) for row in numbers(b, b.split(RANDOM_KEY, 3)).tolist()]
    assert split == [key.words for key in RANDOM_KEY.split(3)]


def ulps(got, expected):
    """Return the largest difference of two arrays, in units of the last place."""
    return np.max(np.abs(got - expected) / np.spacing(np.abs(expected)))


NORMAL_DISTRIBUTION_FUNCTIONS = {
    "normal": (
        lambda b: b.normal(RANDOM_KEY, (100_000,)),
        lambda: jax.random.normal(JAX_KEY, (100_000,)),
    ),
    "truncated": (
        lambda b: b.truncated_normal(RANDOM_KEY, -2.0, 2.0, (100_000,)),
        lambda: jax.random.truncated_normal(JAX_KEY, -2.0, 2.0, (100_000,)),
    ),
}


@everywhere
@pytest.mark.parametrize(
    ("ours", "theirs"),
    NORMAL_DISTRIBUTION_FUNCTIONS.values(),
    ids=NORMAL_DISTRIBUTION_FUNCTIONS,
)
def test_normal_numbers_equal_those_of_jax_within_4_ulp(ours, theirs, name):
    b = found(name)
    assert ulps(numbers(b, ours(b)), np.asarray(theirs())) <= 4


@everywhere
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_dropout_keeps_the_same_values_as_jax(dtype, name):
    x = np.random.default_rng(0).standard_normal(SAMPLE_SHAPE).astype(dtype)
    with wide(name, dtype):
        b = found(name)
        got = numbers(b, b.dropout(b.asarray(x), RANDOM_KEY, 0.25))
    kept = np.asarray(jax.random.bernoulli(JAX_KEY, np.float32(0.75), SAMPLE_SHAPE))
    np.testing.assert_allclose(got, np.where(kept, x / 0.75, 0), rtol=1e-6)


def test_random_functions_for_devices_give_equal_bits_on_a_cpu():
    torch = pytest.importorskip("torch")
    from seqloom.tensor.backends._torch import _device_random as device

    words, b = torch.tensor(RANDOM_KEY.words, dtype=torch.uint32), found("torch")
    same = [
        (device.random_bits(words, SAMPLE_SHAPE), b.random_bits(RANDOM_KEY, SAMPLE_SHAPE)),
        (
            device.uniform(words, SAMPLE_SHAPE, torch.float32),
            b.uniform(RANDOM_KEY, SAMPLE_SHAPE),
        ),
        (
            device.uniform(words, SAMPLE_SHAPE, torch.float64),
            b.uniform(RANDOM_KEY, SAMPLE_SHAPE, dtype="float64"),
        ),
        (
            device.randint(words, -5, 1000, SAMPLE_SHAPE),
            b.randint(RANDOM_KEY, -5, 1000, SAMPLE_SHAPE),
        ),
        (device.permutation(words, 2000), b.permutation(RANDOM_KEY, 2000)),
        (device.split(words, 4), b.split(RANDOM_KEY, 4)),
    ]
    for one, two in same:
        np.testing.assert_array_equal(one.numpy(), two.numpy())


INVALID_CALLS = {
    "a negative length": (lambda b: b.uniform(RANDOM_KEY, (2, -1)), "length is negative"),
    "normal numbers with a length below 0": (
        lambda b: b.normal(RANDOM_KEY, (-1,)),
        "length is negative",
    ),
    "a permutation of -1 numbers": (
        lambda b: b.permutation(RANDOM_KEY, -1),
        "n must be at least",
    ),
    "a probability above 1": (
        lambda b: b.bernoulli(RANDOM_KEY, 1.5, (3,)),
        r"in \[0, 1\], got 1.5",
    ),
    "a probability below 0": (
        lambda b: b.bernoulli(RANDOM_KEY, -0.5, (3,)),
        r"in \[0, 1\]",
    ),
    "an empty range": (
        lambda b: b.randint(RANDOM_KEY, 5, 5, (3,)),
        "low must be below high",
    ),
    "a range beyond int32": (
        lambda b: b.randint(RANDOM_KEY, 0, 2**40, (3,)),
        "must fit int32",
    ),
    "reversed bounds": (
        lambda b: b.truncated_normal(RANDOM_KEY, 1.0, -1.0, (3,)),
        "lower must be below upper",
    ),
}


@everywhere
@pytest.mark.parametrize(("call", "message"), INVALID_CALLS.values(), ids=INVALID_CALLS)
def test_invalid_arguments_of_random_functions_are_errors(call, message, name):
    with pytest.raises(ArgumentError, match=message):
        call(found(name))


@everywhere
@pytest.mark.parametrize("bounds", [(20.0, 21.0), (-21.0, -20.0), (5.3, 40.0)], ids=str)
def test_truncated_normal_numbers_are_within_bounds_far_from_the_mean(bounds, name):
    b, (low, high) = found(name), bounds
    got = numbers(b, b.truncated_normal(RANDOM_KEY, low, high, (200,)))
    assert ((got > low) & (got < high)).all()
