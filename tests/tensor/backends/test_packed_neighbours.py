"""Packed sequences in any layout: by gradients of each backend, eager and compiled."""

from functools import cache, partial
from itertools import pairwise
from typing import Any

import jax
import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st
from torch.nn import functional as F

import seqloom as sl
from backend_oracle import everywhere, found

# One total and one number of sequences: what is compiled is compiled once, not causal.
TOTAL, COUNT, HEADS, WIDTH = 24, 5, 2, 8
SHAPE = TOTAL, HEADS, WIDTH

brief = settings(max_examples=25, deadline=None)
layouts = st.lists(st.integers(0, TOTAL), min_size=COUNT - 1, max_size=COUNT - 1).map(
    lambda cuts: [0, *sorted(cuts), TOTAL]
)
numbers = st.sampled_from([np.nan, np.inf, -np.inf, 3e38, -3e38, 0.0])
halves = {"float16": 2.0**-10, "bfloat16": 2.0**-7}  # one unit of the last place


def drawn(seed: int, dtype: Any = "float32") -> list[Any]:
    """Queries, keys, values, and what the result is multiplied with."""
    rng = np.random.default_rng(seed)
    made = rng.standard_normal((4, *SHAPE)).astype("float32")
    return [np.array(jax.numpy.asarray(array, dtype)) for array in made]


def pull(q: Any, k: Any, v: Any, weight: Any, ends: Any, *, causal: bool) -> list[Any]:
    """Return the result and the derivatives of its product with the weight."""

    def attend(q: Any, k: Any, v: Any) -> Any:
        return sl.nn.functional.attention_varlen(q, k, v, ends, TOTAL, causal)

    def product(*arrays: Any) -> Any:
        return (attend(*arrays) * weight).sum()

    grads = sl.tensor.grad(product, argnums=(0, 1, 2))(q, k, v)
    return [attend(q, k, v), *grads]


@cache
def compiled() -> Any:
    """Return the same, compiled."""
    return sl.tensor.compile(partial(pull, causal=False))


def answers_of(b: Any, arrays: Any, bounds: Any, way: str) -> list[Any]:
    """What a backend makes of NumPy's arrays."""
    given = [b.tensor(array) for array in arrays]
    ends = b.tensor(np.array(bounds, np.int32))
    step: Any = compiled() if way == "compiled" else partial(pull, causal=way == "causal")
    with np.errstate(all="ignore"):
        return [np.asarray(each.numpy(), "float64") for each in step(*given, ends)]


def truth(arrays: Any, bounds: Any, way: str) -> list[Any]:
    """Return the same in float64, sequence by sequence, by torch."""
    attend: Any = F.scaled_dot_product_attention
    parts: list[Any] = [np.zeros(SHAPE) for _ in range(4)]
    for start, end in pairwise(bounds):
        if start == end:
            continue
        rows = [
            torch.from_numpy(x[start:end].astype("float64")).transpose(0, 1) for x in arrays
        ]
        leaves = [row.requires_grad_() for row in rows[:3]]
        out = attend(*leaves, is_causal=way == "causal")
        grads = torch.autograd.grad(out, leaves, rows[3])
        for part, each in zip(parts, (out.detach(), *grads), strict=True):
            part[start:end] = each.transpose(0, 1).numpy()
    return parts


eager = st.sampled_from(["plain", "causal"])
compilers = pytest.mark.parametrize("name", ["numpy", "torch", "jax"])


def assert_untouched(b: Any, bounds: Any, way: str, victim: int, number: float) -> None:
    """Compare neighbours of a sequence that holds a number with those of another one."""
    clean, mixed = drawn(victim), drawn(victim)
    start, end = bounds[victim : victim + 2]
    for array in mixed:
        array[start:end, :, 1] = number
    before = answers_of(b, clean, bounds, way)
    after = answers_of(b, mixed, bounds, way)
    for mine, wanted in zip(after, before, strict=True):
        np.testing.assert_array_equal(mine[:start], wanted[:start])
        np.testing.assert_array_equal(mine[end:], wanted[end:])


victims = st.integers(0, COUNT - 1)


@everywhere
@brief
@given(bounds=layouts, way=eager, victim=victims, number=numbers)
def test_no_neighbour_changes_a_bit(name, bounds, way, victim, number):
    assert_untouched(found(name), bounds, way, victim, number)


@compilers
@brief
@given(bounds=layouts, victim=victims, number=numbers)
def test_no_neighbour_changes_a_bit_of_what_is_compiled(name, bounds, victim, number):
    assert_untouched(found(name), bounds, "compiled", victim, number)


def assert_true(b: Any, bounds: Any, way: str, seed: int) -> None:
    """Compare with float64, sequence by sequence."""
    arrays = drawn(seed)
    answers = answers_of(b, arrays, bounds, way)
    for mine, wanted in zip(answers, truth(arrays, bounds, way), strict=True):
        # 16 roundings of float32 at the largest number: a sum has up to 24 terms.
        atol = 16 * np.finfo(np.float32).eps * abs(wanted).max()
        np.testing.assert_allclose(mine, wanted, rtol=1e-6, atol=atol)


@everywhere
@brief
@given(bounds=layouts, way=eager, seed=st.integers(0, 99))
def test_each_sequence_is_attended_to_alone(name, bounds, way, seed):
    assert_true(found(name), bounds, way, seed)


@compilers
@brief
@given(bounds=layouts, seed=st.integers(0, 99))
def test_each_sequence_is_attended_to_alone_where_that_is_compiled(name, bounds, seed):
    assert_true(found(name), bounds, "compiled", seed)


@everywhere
@brief
@given(length=st.sampled_from([1, 7, 16]), start=st.integers(0, 8), way=eager)
def test_a_sequence_among_others_is_the_sequence_alone(name, length, start, way):
    b, arrays = found(name), drawn(start)
    end = start + length
    bounds = [0, start // 2, start, end, end, TOTAL]
    alone = answers_of(b, [array[start:end] for array in arrays], [0, length], way)
    packed = answers_of(b, arrays, bounds, way)
    error = 0 if name == "numpy" else 1e-6
    for whole, wanted in zip(packed, alone, strict=True):
        least = error * abs(wanted).max()
        np.testing.assert_allclose(whole[start:end], wanted, rtol=error, atol=least)


@compilers
@pytest.mark.parametrize("dtype", halves)
@brief
@given(bounds=layouts, way=eager, seed=st.integers(0, 99))
def test_half_precision_is_rounded_at_the_end_only(name, dtype, bounds, way, seed):
    arrays, unit = drawn(seed, dtype), halves[dtype]
    answers = answers_of(found(name), arrays, bounds, way)
    out, *grads = truth(arrays, bounds, way)
    np.testing.assert_allclose(answers[0], out, rtol=unit, atol=1e-6)
    for mine, wanted in zip(answers[1:], grads, strict=True):
        # The result, of which derivatives are made, was rounded too.
        error = 4 * unit * abs(wanted).max()
        np.testing.assert_allclose(mine, wanted, rtol=unit, atol=error)
