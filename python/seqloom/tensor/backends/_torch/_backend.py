"""Torch as a backend: plain functions over its tensors, on any of its devices."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from seqloom.errors import BackendError
from seqloom.tensor._backend import Backend, backend, check_overrides, functions_of
from seqloom.tensor._compile._passes import cast_numbers
from seqloom.tensor._graph import Graph, Operation, lower_graph
from seqloom.tensor._leaves import freeze
from seqloom.tensor.backends._torch import (
    _attention,
    _creation,
    _elementwise,
    _kernels,
    _lookup,
    _neural,
    _random,
    _recurrent,
    _standard,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Sequence

    from seqloom.tensor._backend import Array


def program(b: Backend, graph: Graph) -> Callable[[Sequence[Array]], Sequence[Array]]:
    """One flat function of torch's, compiled; on a GPU by CUDA graphs."""
    # A number of each call becomes a tensor of no axes, so that another value is not
    # another program.
    cuda = b.device.startswith("cuda")
    function = torch.compile(
        lower_graph(join_gradients(cast_numbers(graph)), b),
        fullgraph=True,
        dynamic=False,
        mode="reduce-overhead" if cuda else None,
    )
    numbers = [position for position, value in enumerate(graph.inputs) if value.weak]
    kind = torch.float32 if b.device.startswith("mps") else torch.float64

    def run(arrays: Sequence[Array]) -> Sequence[Array]:
        given = list(arrays)
        for position in numbers:
            # Filled, not copied there: a copy would wait for the device.
            given[position] = torch.full((), given[position], dtype=kind, device=b.device)
        with torch.no_grad():
            made = function(*given)
        # A CUDA graph's outputs are overwritten by its next run.
        return [array.clone() for array in made] if cuda else made

    return run


_INPUT = ("conv1d_input_grad", "conv2d_input_grad")
_WEIGHT = ("conv1d_weight_grad", "conv2d_weight_grad")


def join_gradients(graph: Graph) -> Graph:
    """Take a convolution's derivatives together, and a bias's only where there is one.

    In two calls, the gradient would be laid out twice.

    Args:
        graph: Any graph.

    Returns:
        One of the same inputs and outputs.
    """
    operations = list(_calls(graph.operations, graph.uses()))
    return Graph(graph.inputs, graph.constants, operations, graph.outputs, graph.donated)


def _calls(operations: list[Operation], read: Container[int]) -> Iterator[Operation]:
    """Yield the operations; a convolution's two derivatives follow each other in a step."""
    by_input: Operation | None = None
    for operation in operations:
        if by_input is not None and not _of_one(by_input, operation):
            yield by_input
            by_input = None
        if operation.name in _INPUT:
            by_input = operation
        elif operation.name in _WEIGHT:
            # One call that gives those of the results that are read.
            x, grad, weight = operation.args
            outputs = operation.outputs
            if by_input is not None:
                weight, outputs = by_input.args[1], by_input.outputs + outputs
            wanted = [
                by_input is not None,
                *(output.number in read for output in operation.outputs),
            ]
            options = {**operation.options, "wanted": wanted}
            made = tuple(output for output in outputs if output.number in read)
            name, where = "conv_grads", operation.where
            yield Operation(name, (grad, x, weight), options, made, where)
            by_input = None
        else:
            yield operation
    if by_input is not None:
        yield by_input


def _of_one(by_input: Operation, other: Operation) -> bool:
    """Return whether two are the derivatives of one convolution.

    Or of two that are alike.
    """
    if other.name not in _WEIGHT or other.name[:6] != by_input.name[:6]:
        return False
    (grad, weight, x_shape), (x, same, shape) = by_input.args, other.args
    one = (grad.number, tuple(x_shape), weight.shape, freeze(by_input.options))
    return one == (same.number, x.shape, tuple(shape), freeze(other.options))


_FUNCTIONS = functions_of(
    *(_attention, _creation, _elementwise, _kernels, _lookup, _neural),
    *(_random, _recurrent, _standard),
)
_FUNCTIONS["program"] = program


class TorchBackend(Backend, functions=check_overrides("torch", _FUNCTIONS)):
    """Torch's tensors as plain arrays: nothing here records a graph of torch's.

    Args:
        device: ``"cpu"``, ``"cuda:0"``, ``"mps"``; default the CPU.
        threads: Threads for torch's CPU kernels, for the whole process.

    Raises:
        BackendError: There is no such device.

    Examples:
        >>> from seqloom.tensor import backend
        >>> B = backend("torch")
        >>> B.relu(B.asarray([-1.0, 2.0])).tolist()
        [0.0, 2.0]
    """

    conv_grads = staticmethod(_neural.conv_grads)  # of torch alone

    def __init__(self, device: str | None = None, *, threads: int = 1) -> None:
        self.device = _require_device(device or "cpu")
        self.name = "torch" if self.device == "cpu" else f"torch:{self.device}"
        self.threads = threads
        if self.device == "cpu":
            torch.set_num_threads(threads)

    def __reduce__(self) -> Any:
        """Copy and pickles are the one backend of that device and number of threads."""
        return partial(backend, self.name, num_threads=self.threads), ()

    def sync(self) -> None:
        """Wait until all that was asked of the device is computed."""
        if self.device.startswith("cuda"):
            torch.cuda.synchronize(self.device)
        elif self.device.startswith("mps"):
            torch.mps.synchronize()


def _require_device(device: str) -> str:
    """Return a device that torch has here."""
    try:
        torch.empty(0, device=device)
    except (AssertionError, NotImplementedError, RuntimeError) as error:
        reason = str(error).partition("\n")[0]
        raise BackendError(f"torch has no device {device!r} here: {reason}") from error
    return device
