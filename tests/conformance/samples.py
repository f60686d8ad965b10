"""torch's samples of an operation, told as calls of ours."""

import os
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import cache, lru_cache
from typing import Any

import torch

from conformance.call import Call, Late, Operation, Skip

# How many samples of an operation and element type one backend runs; 0: all (`make soak`).
QUICK = int(os.environ.get("CONFORMANCE_SAMPLES", "3"))


@cache
def _infos() -> dict[str, Any]:
    """OpInfo entries by name, and by name and variant."""
    from torch.testing._internal.common_methods_invocations import op_db

    found: dict[str, Any] = {}
    for info in op_db:
        found.setdefault(info.name, info)
        found[f"{info.name}/{info.variant_test_name}"] = info
    return found


def samples(operation: Operation, dtype: str) -> list[tuple[Any, Any]]:
    """Return each sample of torch's with the entry that it is of."""
    return _made(operation.theirs, dtype)


@lru_cache(maxsize=16)  # functions and their derivatives are next to each other
def _made(name: str, dtype: str) -> list[tuple[Any, Any]]:
    """Make the samples of one entry; some have thousands."""
    # For each sample torch formats the stack three times; that of a new thread is short.
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(_make_samples, name, dtype).result()


def _make_samples(name: str, dtype: str) -> list[tuple[Any, Any]]:
    """Make the samples of one entry in this thread."""
    info, floats = _infos()[name], dtype.startswith("float")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        found = info.sample_inputs("cpu", getattr(torch, dtype), requires_grad=floats)
        return [(info, sample) for sample in found]


def told(operation: Operation, info: Any, sample: Any) -> tuple[Call | Late | Skip, Any]:
    """One sample as a call of ours, and torch's function over it."""
    sample = sample.transform(_leaf)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a variance of nothing
        call = operation.adapt(sample.input, *sample.args, **sample.kwargs)
    return call, lambda: info.op(sample.input, *sample.args, **sample.kwargs)


def _leaf(value: Any) -> Any:
    """Return a tensor by which torch can give gradients."""
    if not isinstance(value, torch.Tensor) or value.layout != torch.strided:
        return value
    value = value.detach().clone()
    return value.requires_grad_(value.dtype.is_floating_point)


@cache  # every backend runs the same ones
def chosen(operation: Operation, dtype: str, count: int = QUICK) -> list[tuple[Any, Any]]:
    """Samples evenly taken from all, the first and the last among them."""
    found = samples(operation, dtype)
    if not count or len(found) <= count:
        return found
    return [found[round(i * (len(found) - 1) / (count - 1))] for i in range(count)]
