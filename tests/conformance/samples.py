"""PyTorch's OpInfo samples of an operation, converted to calls of seqloom."""

import os
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import cache, lru_cache
from typing import Any

import torch

from conformance.call import Call, Late, Operation, Skip

# Number of samples per operation, data type and backend; 0 means all (`make soak`).
SAMPLE_COUNT = int(os.environ.get("CONFORMANCE_SAMPLES", "3"))


@cache
def _infos() -> dict[str, Any]:
    """Return OpInfo entries by their name, and by their name and variant."""
    from torch.testing._internal.common_methods_invocations import op_db

    infos: dict[str, Any] = {}
    for info in op_db:
        infos.setdefault(info.name, info)
        infos[f"{info.name}/{info.variant_test_name}"] = info
    return infos


def samples(operation: Operation, dtype: str) -> list[tuple[Any, Any]]:
    """Return all samples of an operation, each with its OpInfo entry."""
    return _cached_samples(operation.theirs, dtype)


@lru_cache(maxsize=16)  # an operation and its gradient share samples
def _cached_samples(name: str, dtype: str) -> list[tuple[Any, Any]]:
    """Create the samples of one OpInfo entry; some entries have thousands."""
    # PyTorch formats the call stack for each sample; a new thread has a short stack.
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(_make_samples, name, dtype).result()


def _make_samples(name: str, dtype: str) -> list[tuple[Any, Any]]:
    """Create the samples of one OpInfo entry in this thread."""
    info, floats = _infos()[name], dtype.startswith("float")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        inputs = info.sample_inputs("cpu", getattr(torch, dtype), requires_grad=floats)
        return [(info, sample) for sample in inputs]


def convert_sample(
    operation: Operation, info: Any, sample: Any
) -> tuple[Call | Late | Skip, Any]:
    """Return the seqloom call for a sample, and a function that runs PyTorch on it."""
    sample = sample.transform(_leaf)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch warns about empty arrays
        call = operation.adapt(sample.input, *sample.args, **sample.kwargs)
    return call, lambda: info.op(sample.input, *sample.args, **sample.kwargs)


def _leaf(value: Any) -> Any:
    """Return a copy of a tensor for which PyTorch can compute gradients."""
    if not isinstance(value, torch.Tensor) or value.layout != torch.strided:
        return value
    value = value.detach().clone()
    return value.requires_grad_(value.dtype.is_floating_point)


@cache  # every backend runs the same samples
def select_samples(
    operation: Operation, dtype: str, count: int = SAMPLE_COUNT
) -> list[tuple[Any, Any]]:
    """Return `count` evenly spaced samples, including the first and the last."""
    every = samples(operation, dtype)
    if not count or len(every) <= count:
        return every
    return [every[round(i * (len(every) - 1) / (count - 1))] for i in range(count)]
