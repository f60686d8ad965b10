"""Run a step of seqloom and a step of torch on equal gradients, in turns.

python -m benchmarks.optim._worker adamw LAYERS ROUNDS THREADS, or muon ROUNDS THREADS.
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import seqloom as sl
from benchmarks._measure import time_alternately, touch_memory
from seqloom._rust import _native

# Matrices of an encoder layer with 320 features; six layers have 7.4 million numbers.
LAYER_SHAPES = ((960, 320), (320, 320), (1280, 320), (320, 1280))
MUON_MATRIX_SHAPE = (1280, 320)
NEWTON_SCHULZ_STEPS = 5  # Number of Newton-Schulz steps.
RATE, DECAY = 1e-3, 0.1
Seconds = dict[str, float]


class ParameterList(sl.nn.Module):
    """Module with a list of parameters."""

    params: list[sl.nn.Param]

    def __init__(self, shapes: list[tuple[int, ...]]) -> None:
        self.params = [sl.nn.Param(shape, sl.nn.Fill(0.5)) for shape in shapes]


class OptimizerPair:
    """Equal parameters and gradients in both libraries, each with its optimiser.

    Args:
        shapes: The shapes of the parameters.
        threads: The number of threads of each library.
    """

    def __init__(self, shapes: list[tuple[int, ...]], threads: int) -> None:
        torch.set_num_threads(threads)
        plain = sl.tensor.backend("numpy", num_threads=threads)
        self.model: Any = ParameterList(shapes).bind(plain, sl.Key(0))
        draw = np.random.default_rng(0)
        self.grads = [draw.standard_normal(shape, np.float32) for shape in shapes]
        self.twins = [
            self._copy_to_torch(each, grad)
            for each, grad in self._parameters_and_gradients()
        ]

    def _parameters_and_gradients(self) -> Any:
        """Yield the parameters of seqloom and their gradients."""
        return zip(self.model.params, self.grads, strict=True)

    def _copy_to_torch(self, ours: Any, grad: np.ndarray) -> Any:
        """Return a torch parameter with the same numbers."""
        twin = torch.nn.Parameter(torch.from_numpy(ours.numpy()).clone())
        twin.grad = torch.from_numpy(grad).clone()
        return twin

    def step_functions(self, ours: Any, theirs: Any) -> dict[str, Callable[[], object]]:
        """Return a step of each library."""
        by_id = {each.id: grad for each, grad in self._parameters_and_gradients()}
        grads = sl.tensor.Gradients(by_id, self.model.params[0].bound_backend)
        return {
            "ours": lambda: ours.step(RATE, self.model, grads),
            "torch": theirs.step,
        }

    def parameter_changes(self) -> Any:
        """Yield how a step changes each parameter in both libraries."""
        for ours, twin in zip(self.model.params, self.twins, strict=True):
            yield ours.numpy() - 0.5, twin.detach().numpy() - 0.5


def time_adamw(layers: int, rounds: int, threads: int) -> Seconds:
    """Time AdamW, and an equal number of memory accesses, for a number of layers."""
    touch_memory()
    pair = OptimizerPair([*LAYER_SHAPES] * layers, threads)
    theirs = torch.optim.AdamW(pair.twins, RATE, weight_decay=DECAY, fused=True)
    sides = pair.step_functions(sl.optim.AdamW(weight_decay=DECAY), theirs)
    # AdamW reads four arrays and writes three; the copy reads one and writes one.
    moved = torch.ones(sum(twin.numel() for twin in pair.twins))
    sides["floor"] = lambda: moved.mul_(1.0001)
    seconds = _shortest_times(sides, rounds)
    for ours, their in pair.parameter_changes():
        np.testing.assert_allclose(ours, their, rtol=1e-4, atol=1e-6)
    return {**seconds, "floor": seconds["floor"] * 7 / 2}


def time_muon(rounds: int, threads: int) -> Seconds:
    """Time Muon and the products of its Newton-Schulz steps for one matrix."""
    pair = OptimizerPair([MUON_MATRIX_SHAPE], threads)
    theirs = torch.optim.Muon(pair.twins, RATE, weight_decay=DECAY)
    sides = pair.step_functions(sl.optim.Muon(weight_decay=DECAY), theirs)
    seconds = _shortest_times({**sides, "floor": _multiply_like_muon(threads)}, rounds)
    for (
        ours,
        their,
    ) in pair.parameter_changes():  # torch computes in bfloat16
        assert np.linalg.norm(ours - their) < 0.1 * np.linalg.norm(their)
    return seconds


def _multiply_like_muon(threads: int) -> Callable[[], None]:
    """Multiply matrices like the Newton-Schulz steps."""
    rows, columns = min(MUON_MATRIX_SHAPE), max(MUON_MATRIX_SHAPE)
    x, y = np.full((2, rows, columns), 1e-3, np.float32)
    square, other = np.full((2, rows, rows), 1e-3, np.float32)

    def multiply_matrices() -> None:
        for _ in range(NEWTON_SCHULZ_STEPS):
            _native.product((x, x.T), None, square, threads)
            _native.product((square, square), None, other, threads)
            _native.product((other, x), None, y, threads)

    return multiply_matrices


def _shortest_times(sides: dict[str, Callable[[], object]], rounds: int) -> Seconds:
    """Return the shortest time of each function in seconds, after a warm-up call."""
    for work in sides.values():
        work()
    # OpenMP threads of torch spin for some milliseconds after they have finished.
    seconds = time_alternately({"pause": lambda: time.sleep(0.02), **sides}, rounds=rounds)
    return {name: min(seconds[name]) for name in sides}


if __name__ == "__main__":
    work = {"adamw": time_adamw, "muon": time_muon}[sys.argv[1]]
    print(json.dumps(work(*map(int, sys.argv[2:]))))
