"""The measured operation "train step": two square layers in seqloom and in PyTorch."""

from importlib import import_module
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.scale._reading import Maker, Work
from benchmarks.scale._sweeps import LOWER_BOUND, InputSizes

ROWS, LR = 64, 1e-3


class InitialState(NamedTuple):
    """Initial weights and training batch, equal for all libraries.

    Args:
        weights: Weights of both layers, (layer, output, input).
        x: Training batch.
        threads: Number of threads.
    """

    weights: NDArray[np.float32]
    x: NDArray[np.float32]
    threads: int


def make_training_step(side: str) -> Maker:
    """Train on one batch and return the loss."""
    makers = {
        "seqloom": _make_seqloom_step,
        "torch eager": _make_torch_step,
        LOWER_BOUND: _make_matrix_products,
    }
    if side == "torch eager":
        import_module("torch._dynamo")  # AdamW imports it at its first step
    return lambda sizes, _: makers[side](_sample_state(sizes))


def _sample_state(sizes: InputSizes) -> InitialState:
    """Sample two square layers with a given number of weights, and a batch."""
    width = round((sizes.parameters / 2) ** 0.5)
    draw = np.random.default_rng(0)
    weights = draw.normal(0, width**-0.5, (2, width, width)).astype(np.float32)
    return InitialState(
        weights, draw.normal(size=(ROWS, width)).astype(np.float32), sizes.threads
    )


def _make_seqloom_step(start: InitialState) -> Work:
    """Return a training step of seqloom on the NumPy backend."""
    import seqloom as sl

    threadpool_limits(start.threads, user_api="blas")  # thread limit of the whole process
    table = sl.tensor.backend("numpy", num_threads=start.threads)
    width = start.x.shape[1]
    first, second = (sl.nn.Linear(width, width, bias=False) for _ in range(2))
    model = sl.nn.Sequential(first, second).bind(table, sl.Key(0))
    model.load_record(dict(zip(model.to_record(), start.weights, strict=True)))
    optimizer, batch = sl.optim.AdamW(), table.tensor(start.x)

    def compute_loss(_: sl.nn.Module) -> sl.tensor.Tensor:
        return (second(sl.nn.functional.relu(first(batch))) ** 2).mean()

    follow = sl.nn.value_and_grad(compute_loss)

    def run_step() -> tuple[float]:
        with sl.tensor.scope():
            loss, grads = follow(model)
            optimizer.step(LR, model, grads)
            return (float(loss),)

    return run_step


def _make_torch_step(start: InitialState) -> Work:
    """Return a training step of eager PyTorch with fused AdamW."""
    import torch

    torch.set_num_threads(start.threads)
    first, second = (torch.tensor(each, requires_grad=True) for each in start.weights)
    optimizer = torch.optim.AdamW((first, second), lr=LR, fused=True)
    linear, batch = torch.nn.functional.linear, torch.from_numpy(start.x)

    def run_step() -> tuple[float]:
        optimizer.zero_grad()
        loss = (linear(torch.relu(linear(batch, first)), second) ** 2).mean()
        loss.backward()
        optimizer.step()
        return (loss.item(),)

    return run_step


def _make_matrix_products(start: InitialState) -> Work:
    """Return the lower bound: the matrix products of a step, computed by NumPy's BLAS."""
    threadpool_limits(start.threads, user_api="blas")  # thread limit of the whole process
    matrix, x, width = start.weights[0], start.x, start.x.shape[1]
    row, square = np.empty((ROWS, width), np.float32), np.empty_like(matrix)

    def run_step() -> tuple[()]:
        for _ in range(2):
            np.matmul(x, matrix.T, out=row)
            np.matmul(x.T, row, out=square)
        np.matmul(row, matrix, out=row)
        return ()

    return run_step
