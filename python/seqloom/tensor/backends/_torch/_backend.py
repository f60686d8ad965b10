"""The PyTorch backend."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from seqloom.errors import BackendError
from seqloom.tensor._backend import Backend, backend, check_overrides, collect_functions
from seqloom.tensor._compile._passes import cast_numbers
from seqloom.tensor._graph import Graph, Operation, lower_graph
from seqloom.tensor._leaves import to_cache_key
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
    """Compile a graph with ``torch.compile``; on a GPU, as a CUDA graph."""
    # Python numbers become tensors without axes, so that a new value does not cause a
    # new compilation.
    cuda = b.device.startswith("cuda")
    function = torch.compile(
        lower_graph(merge_gradients(cast_numbers(graph)), b),
        fullgraph=True,
        dynamic=False,
        mode="reduce-overhead" if cuda else None,
    )
    numbers = [position for position, value in enumerate(graph.inputs) if value.weak]
    kind = torch.float32 if b.device.startswith("mps") else torch.float64

    def run_program(arrays: Sequence[Array]) -> Sequence[Array]:
        given = list(arrays)
        for position in numbers:
            # Unlike a copy, `full` does not wait for the device
            given[position] = torch.full((), given[position], dtype=kind, device=b.device)
        with torch.no_grad():
            made = function(*given)
        # The next run of a CUDA graph overwrites its outputs.
        return [array.clone() for array in made] if cuda else made

    return run_program


_INPUT_GRADIENTS = ("conv1d_input_grad", "conv2d_input_grad")
_WEIGHT_GRADIENTS = ("conv1d_weight_grad", "conv2d_weight_grad")


def merge_gradients(graph: Graph) -> Graph:
    """Merge the gradient operations of each convolution of a graph into one call.

    Separate calls would convert the memory layout of the gradient twice. The gradient of
    the bias is computed only if the graph uses it.

    Args:
        graph: Graph that may contain gradients of convolutions.

    Returns:
        A graph with the same inputs and outputs.
    """
    operations = list(_merge_calls(graph.operations, graph.uses()))
    return Graph(graph.inputs, graph.constants, operations, graph.outputs, graph.donated)


def _merge_calls(operations: list[Operation], read: Container[int]) -> Iterator[Operation]:
    """Yield all operations, with the two gradients of each convolution merged."""
    by_input: Operation | None = None
    for operation in operations:
        if by_input is not None and not _same_convolution(by_input, operation):
            yield by_input
            by_input = None
        if operation.name in _INPUT_GRADIENTS:
            by_input = operation
        elif operation.name in _WEIGHT_GRADIENTS:
            # a single call, which returns only the gradients that are used
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


def _same_convolution(by_input: Operation, other: Operation) -> bool:
    """Return whether two operations are the gradients of one convolution."""
    if other.name not in _WEIGHT_GRADIENTS or other.name[:6] != by_input.name[:6]:
        return False
    (grad, weight, x_shape), (x, same, shape) = by_input.args, other.args
    one = (grad.number, tuple(x_shape), weight.shape, to_cache_key(by_input.options))
    return one == (same.number, x.shape, tuple(shape), to_cache_key(other.options))


_TORCH_FUNCTIONS = collect_functions(
    *(_attention, _creation, _elementwise, _kernels, _lookup, _neural),
    *(_random, _recurrent, _standard),
)
_TORCH_FUNCTIONS["program"] = program


class TorchBackend(Backend, functions=check_overrides("torch", _TORCH_FUNCTIONS)):
    """Backend of PyTorch tensors, without PyTorch's autograd.

    Args:
        device: ``"cpu"``, ``"cuda:0"`` or ``"mps"``; default: the CPU.
        threads: Number of threads for PyTorch's CPU kernels, set for the whole process.

    Raises:
        BackendError: The device does not exist.

    Examples:
        >>> from seqloom.tensor import backend
        >>> B = backend("torch")
        >>> B.relu(B.asarray([-1.0, 2.0])).tolist()
        [0.0, 2.0]
    """

    conv_grads = staticmethod(_neural.conv_grads)  # an operation that only this backend has

    def __init__(self, device: str | None = None, *, threads: int = 1) -> None:
        self.device = _require_device(device or "cpu")
        self.name = "torch" if self.device == "cpu" else f"torch:{self.device}"
        self.threads = threads
        if self.device == "cpu":
            torch.set_num_threads(threads)

    def __reduce__(self) -> Any:
        """Copy or pickle only the name of the backend, which identifies the object."""
        return partial(backend, self.name, num_threads=self.threads), ()

    def sync(self) -> None:
        """Wait until the device has finished all computations."""
        if self.device.startswith("cuda"):
            torch.cuda.synchronize(self.device)
        elif self.device.startswith("mps"):
            torch.mps.synchronize()


def _require_device(device: str) -> str:
    """Return the name of a device; raise if it does not exist."""
    try:
        torch.empty(0, device=device)
    except (AssertionError, NotImplementedError, RuntimeError) as error:
        reason = str(error).partition("\n")[0]
        raise BackendError(f"torch found no device {device!r}: {reason}") from error
    return device
