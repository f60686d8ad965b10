"""Time bidirectional GRU and LSTM, forward and backward, in seqloom and torch."""

from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
import torch

import seqloom as sl
from benchmarks._measure import time_alternately
from benchmarks._page import describe_machine, markdown_table, publish_section

BATCH, LENGTH, INSIDE, WIDTH = 32, 100, 64, 128
GATES_BY_LAYER = {"GRU": 3, "LSTM": 4}  # number of gates
THREAD_COUNTS = (
    1,
)  # With more threads, torch waits for the cores that other programs use.
ROUNDS = 15
NOTES = f"""
A step computes the outputs and the gradients of all parameters, in float32. The batch has
{BATCH} rows and {LENGTH} positions; each of two directions maps {INSIDE} features
to {WIDTH}.
"""


def main() -> None:
    """Time a training step of each layer, with equal weights in both libraries."""
    rows = [
        _layer_row(kind, threads) for kind in GATES_BY_LAYER for threads in THREAD_COUNTS
    ]
    head = "layer", "threads", "torch", "seqloom", "ratio", "products alone"
    text = f"{markdown_table(head, rows)}\n\n{describe_machine('torch', 'seqloom')}"
    publish_section("recurrent", text, notes=NOTES)


def _layer_row(kind: str, threads: int) -> tuple[str, ...]:
    """Time both libraries and the matrix products of a step, in turns."""
    torch.set_num_threads(threads)
    backend = sl.tensor.backend("numpy", num_threads=threads)
    x = np.random.default_rng(0).normal(size=(BATCH, LENGTH, INSIDE)).astype("float32")
    theirs = getattr(torch.nn, kind)(INSIDE, WIDTH, batch_first=True, bidirectional=True)
    ours = getattr(sl.nn, kind)(INSIDE, WIDTH, bidirectional=True).bind(backend, 0)
    ours.load_state_dict(theirs.state_dict())
    sides: dict[str, Any] = {
        "torch": _make_torch_step(theirs, torch.tensor(x)),
        "ours": _make_seqloom_step(ours, backend.tensor(x)),
        "floor": _make_step_products(backend, GATES_BY_LAYER[kind]),
    }
    np.testing.assert_allclose(sides["ours"](), sides["torch"](), rtol=1e-3, atol=1e-3)
    seconds = {
        name: median(times[2:])
        for name, times in time_alternately(sides, rounds=ROUNDS).items()
    }
    return (
        kind,
        str(threads),
        *(f"{seconds[name] * 1e3:.1f} ms" for name in ("torch", "ours")),
        f"{seconds['ours'] / seconds['torch']:.2f}",
        f"{seconds['floor'] * 1e3:.1f} ms",
    )


def _make_torch_step(layer: Any, x: torch.Tensor) -> Callable[[], Any]:
    """Return a step of torch that computes the gradients of a layer."""

    def compute_gradients() -> Any:
        layer.zero_grad()
        (layer(x)[0] ** 2).sum().backward()
        return layer.weight_hh_l0.grad.numpy()

    return compute_gradients


def _make_seqloom_step(layer: Any, x: sl.tensor.Tensor) -> Callable[[], Any]:
    """Return a step of seqloom that computes the gradients of a layer."""

    def compute_loss(model: Any, x: Any) -> Any:
        return (model(x)[0] ** 2).sum()

    gradients = sl.nn.value_and_grad(compute_loss)
    return lambda: np.asarray(gradients(layer, x)[1].wrt(layer.weight_hh_l0))


def _make_step_products(backend: Any, gates: int) -> Callable[[], None]:
    """Return the matrix products of a step, computed for all positions at once."""
    rows, columns = BATCH * LENGTH, gates * WIDTH
    make = np.random.default_rng(0).normal
    x, h, by_gates = (
        make(size=(rows, size)).astype("float32") for size in (INSIDE, WIDTH, columns)
    )
    w_ih, w_hh = (make(size=(columns, size)).astype("float32") for size in (INSIDE, WIDTH))

    def multiply_matrices() -> None:
        for _ in range(2):  # number of directions
            backend.linear(x, w_ih)
            backend.linear(h, w_hh)
            backend.matmul(by_gates, w_hh)
            backend.matmul(by_gates.T, h)
            backend.matmul(by_gates.T, x)

    return multiply_matrices
