"""Measure how the first call grows with the number of operations or parameters."""

import json
import sys
import time
from typing import Any

import numpy as np

import seqloom as sl


def time_operation_chain(rounds: int) -> float:
    """Return the processor seconds of the first call of a chain of operations."""

    def apply_operations(x: Any) -> Any:
        for _ in range(rounds):
            x = x * 1.0001 + 0.001
        return x

    x = sl.tensor.backend("numpy").tensor(np.ones(3, np.float32))
    compiled = sl.tensor.compile(apply_operations)
    start = time.process_time()
    compiled(x)
    return time.process_time() - start


class ParameterList(sl.nn.Module):
    """Module with a list of parameters."""

    params: list[sl.nn.Param]

    def __init__(self, count: int) -> None:
        self.params = [sl.nn.Param((4,), sl.nn.Fill(1.0)) for _ in range(count)]


def time_optimizer(count: int) -> float:
    """Return the processor seconds of the first AdamW step for a number of parameters."""
    model = ParameterList(count).bind("numpy", sl.Key(0))

    def sum_parameters(model: Any) -> Any:
        return sl.tensor.apply("concat", [each.value for each in model.params]).sum()

    _, grads = sl.nn.value_and_grad(sum_parameters)(model)
    adamw = sl.optim.AdamW()
    start = time.process_time()
    adamw.step(1e-3, model, grads)
    return time.process_time() - start


if __name__ == "__main__":
    print(
        json.dumps(
            {"chain": time_operation_chain, "optimizer": time_optimizer}[sys.argv[1]](
                int(sys.argv[2])
            )
        )
    )
