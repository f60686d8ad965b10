"""Packed attention of random sequences: output and gradients, eager and compiled."""

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

# The number of sequences and their total length are constant, so a step is compiled
# once.
TOTAL, COUNT, HEADS, WIDTH = 24, 5, 2, 8
PACKED_SHAPE = TOTAL, HEADS, WIDTH

few_examples = settings(max_examples=25, deadline=None)
layouts = st.lists(st.integers(0, TOTAL), min_size=COUNT - 1, max_size=COUNT - 1).map(
    lambda cuts: [0, *sorted(cuts), TOTAL]
)
numbers = st.sampled_from([np.nan, np.inf, -np.inf, 3e38, -3e38, 0.0])
halves = {"float16": 2.0**-10, "bfloat16": 2.0**-7}  # one unit in the last place


def draw(seed: int, dtype: Any = "float32") -> list[Any]:
    """Draw queries, keys and values, and weights for the sum of the output."""
    rng = np.random.default_rng(seed)
    made = rng.standard_normal((4, *PACKED_SHAPE)).astype("float32")
    return [np.array(jax.numpy.asarray(array, dtype)) for array in made]


def run_with_gradients(
    q: Any, k: Any, v: Any, weight: Any, ends: Any, *, causal: bool
) -> list[Any]:
    """Return the attention output, and the gradients of its weighted sum."""

    def attend(q: Any, k: Any, v: Any) -> Any:
        return sl.nn.functional.attention_varlen(q, k, v, ends, TOTAL, causal)

    def product(*arrays: Any) -> Any:
        return (attend(*arrays) * weight).sum()

    grads = sl.tensor.grad(product, argnums=(0, 1, 2))(q, k, v)
    return [attend(q, k, v), *grads]


@cache
def compiled() -> Any:
    """Return a compiled step that runs `run_with_gradients`."""
    return sl.tensor.compile(partial(run_with_gradients, causal=False))


def run_on(b: Any, arrays: Any, bounds: Any, way: str) -> list[Any]:
    """Return the output and the gradients that a backend computes from NumPy arrays."""
    given = [b.tensor(array) for array in arrays]
    ends = b.tensor(np.array(bounds, np.int32))
    step: Any = (
        compiled()
        if way == "compiled"
        else partial(run_with_gradients, causal=way == "causal")
    )
    with np.errstate(all="ignore"):
        return [np.asarray(each.numpy(), "float64") for each in step(*given, ends)]


def compute_expected(arrays: Any, bounds: Any, way: str) -> list[Any]:
    """Return the expected output and gradients, from PyTorch per sequence in float64."""
    attend: Any = F.scaled_dot_product_attention
    parts: list[Any] = [np.zeros(PACKED_SHAPE) for _ in range(4)]
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


def assert_neighbors_unchanged(
    b: Any, bounds: Any, way: str, victim: int, number: float
) -> None:
    """Check that filling one sequence with `number` does not change its neighbours."""
    clean, mixed = draw(victim), draw(victim)
    start, end = bounds[victim : victim + 2]
    for array in mixed:
        array[start:end, :, 1] = number
    before = run_on(b, clean, bounds, way)
    after = run_on(b, mixed, bounds, way)
    for mine, wanted in zip(after, before, strict=True):
        np.testing.assert_array_equal(mine[:start], wanted[:start])
        np.testing.assert_array_equal(mine[end:], wanted[end:])


victims = st.integers(0, COUNT - 1)


@everywhere
@few_examples
@given(bounds=layouts, way=eager, victim=victims, number=numbers)
def test_neighbouring_sequences_do_not_change_results(name, bounds, way, victim, number):
    assert_neighbors_unchanged(found(name), bounds, way, victim, number)


@compilers
@few_examples
@given(bounds=layouts, victim=victims, number=numbers)
def test_neighbouring_sequences_do_not_change_compiled_results(
    name, bounds, victim, number
):
    assert_neighbors_unchanged(found(name), bounds, "compiled", victim, number)


def assert_exact(b: Any, bounds: Any, way: str, seed: int) -> None:
    """Compare results on a backend with the float64 results of each sequence."""
    arrays = draw(seed)
    answers = run_on(b, arrays, bounds, way)
    for mine, wanted in zip(answers, compute_expected(arrays, bounds, way), strict=True):
        # The tolerance is 16 float32 roundings of the largest number, because sums have
        # up to 24 terms.
        atol = 16 * np.finfo(np.float32).eps * abs(wanted).max()
        np.testing.assert_allclose(mine, wanted, rtol=1e-6, atol=atol)


@everywhere
@few_examples
@given(bounds=layouts, way=eager, seed=st.integers(0, 99))
def test_packed_attention_equals_attention_per_sequence(name, bounds, way, seed):
    assert_exact(found(name), bounds, way, seed)


@compilers
@few_examples
@given(bounds=layouts, seed=st.integers(0, 99))
def test_compiled_packed_attention_equals_attention_per_sequence(name, bounds, seed):
    assert_exact(found(name), bounds, "compiled", seed)


@everywhere
@few_examples
@given(length=st.sampled_from([1, 7, 16]), start=st.integers(0, 8), way=eager)
def test_a_sequence_in_a_batch_equals_the_sequence_alone(name, length, start, way):
    b, arrays = found(name), draw(start)
    end = start + length
    bounds = [0, start // 2, start, end, end, TOTAL]
    alone = run_on(b, [array[start:end] for array in arrays], [0, length], way)
    packed = run_on(b, arrays, bounds, way)
    error = 0 if name == "numpy" else 1e-6
    for whole, wanted in zip(packed, alone, strict=True):
        least = error * abs(wanted).max()
        np.testing.assert_allclose(whole[start:end], wanted, rtol=error, atol=least)


@compilers
@pytest.mark.parametrize("dtype", halves)
@few_examples
@given(bounds=layouts, way=eager, seed=st.integers(0, 99))
def test_half_precision_attention_is_rounded_only_at_the_end(
    name, dtype, bounds, way, seed
):
    arrays, unit = draw(seed, dtype), halves[dtype]
    answers = run_on(found(name), arrays, bounds, way)
    out, *grads = compute_expected(arrays, bounds, way)
    np.testing.assert_allclose(answers[0], out, rtol=unit, atol=1e-6)
    for mine, wanted in zip(answers[1:], grads, strict=True):
        # The tolerance is larger, because gradients are computed from the rounded
        # output.
        error = 4 * unit * abs(wanted).max()
        np.testing.assert_allclose(mine, wanted, rtol=unit, atol=error)
