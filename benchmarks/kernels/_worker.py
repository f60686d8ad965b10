"""Worker process that runs the kernels of one library, as requested on standard input."""

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.kernels._cases import KernelCase, draw_inputs

COMPARED_NUMBERS = 1000  # Numbers per array that are compared between the libraries.
# Size of the square matrices whose product is timed as the lower limit.
MATRIX_ROWS = 512


def _load_library(side: str) -> Callable[..., Callable[[], Any]]:
    """Import one library and return its function that prepares a case."""
    if side == "seqloom":
        from benchmarks.kernels._seqloom_calls import prepare_call

        return prepare_call
    from benchmarks.kernels._torch_calls import prepare_call as of_torch

    if side == "torch":
        return of_torch
    return partial(of_torch, compiled=True)


def _list_arrays(made: Any) -> list[np.ndarray]:
    """Return the arrays of a result, which can be a single array."""
    several = isinstance(made, (tuple, list))
    return [np.asarray(each) for each in (made if several else [made])]


def _summarise_result(made: Any, *, random: bool) -> list[list[float]]:
    """Return some elements of each array, or the mean and deviation of random numbers."""
    arrays = _list_arrays(made)
    if random:
        return [[float(arrays[0].mean()), float(arrays[0].std())]]
    return [_sample_array(each) for each in arrays]


def _sample_array(x: np.ndarray) -> list[float]:
    """Return equally spaced elements of an array, in C order."""
    flat = x.reshape(-1)
    return flat[:: max(1, flat.size // COMPARED_NUMBERS)].astype(float).tolist()


def _time_call(work: Callable[[], Any], times: int) -> float:
    """Return the mean seconds per call."""
    start = time.perf_counter()
    for _ in range(times):
        work()
    return (time.perf_counter() - start) / times


def _time_lower_bound(case: KernelCase, nbytes: int, threads: int) -> float:
    """Return the longer of PyTorch's times for copying and for multiplying."""
    import torch

    torch.set_num_threads(threads)
    one = torch.ones(nbytes // 2, dtype=torch.uint8)
    two = torch.empty_like(one)
    square = torch.ones((MATRIX_ROWS, MATRIX_ROWS), dtype=getattr(torch, case.dtype))
    copied, multiplied = (
        min(_time_call(work, 3) for _ in range(5))
        for work in (lambda: two.copy_(one), lambda: torch.mm(square, square))
    )
    return max(copied, multiplied * case.operations / (2 * MATRIX_ROWS**3))


def _answer_requests(side: str, threads: int) -> None:
    """Answer the requests on standard input: results of a case, or measured seconds."""
    prepare_call = _load_library(side)
    work: Callable[[], Any] = list
    case = KernelCase("", ())
    for line in sys.stdin:
        asked = json.loads(line)
        if isinstance(asked, int):
            answer: Any = _time_call(work, asked)
        elif asked == "floor":
            nbytes = sum(
                each.nbytes for each in (*draw_inputs(case), *_list_arrays(work()))
            )
            answer = _time_lower_bound(case, nbytes, threads)
        else:
            case = KernelCase(asked[0], tuple(asked[1]), asked[2])
            work = prepare_call(case, threads)
            answer = _summarise_result(work(), random=case.is_random)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    _answer_requests(sys.argv[1], int(sys.argv[2]))
