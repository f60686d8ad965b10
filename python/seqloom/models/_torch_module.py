"""TorchModule: a PyTorch network as a module, with parameters in shared memory."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from seqloom.errors import ArgumentError, BackendError, GradientError, RecordError
from seqloom.nn import Buffer, Fill, Module, Param
from seqloom.nn._state import require_mapping
from seqloom.record import Record
from seqloom.record._keys import rename_arrays
from seqloom.tensor import Gradients, Tensor, backend as find_backend

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping

    from seqloom._key import Key
    from seqloom.record._keys import KeyMap
    from seqloom.tensor import Backend


class TorchModule(Module):
    """Module that wraps a ``torch.nn.Module``; `seqloom.train.fit` creates it if needed.

    Parameters and persistent buffers keep their PyTorch names and memory. Optimisers,
    records, checkpoints and weight averages of seqloom therefore work on the PyTorch
    tensors.
    The network computes with PyTorch only: dropout uses PyTorch's generator,
    which `fit` seeds with the key of each step.

    Args:
        module: PyTorch network. Training and `load_record` change the network in place.

    Attributes:
        module: The PyTorch network.

    Raises:
        ArgumentError: `module` is not a ``torch.nn.Module``, or has no parameters.

    Examples:
        >>> import seqloom as sl, torch
        >>> net = sl.models.TorchModule(torch.nn.Linear(2, 1)).bind("torch", sl.Key(0))
        >>> [path for path, _ in net.parameters()]
        ['weight', 'bias']
        >>> net.load_record({"weight": [[1.0, 2.0]], "bias": [0.0]}).module.weight.tolist()
        [[1.0, 2.0]]
    """

    module: Any
    stored: dict[str, Param | Buffer]

    def __init__(self, module: Any) -> None:
        if not is_torch(module):
            raise ArgumentError(
                f"module must be a torch.nn.Module, got {type(module).__name__}"
            )
        _check_sizes(module)
        self.module = module
        self.stored = {path: _make_array(tensor) for path, tensor in _list_tensors(module)}
        if not self.stored:
            raise ArgumentError(f"{type(module).__name__} has no parameters to train")

    def bind(self, backend: Backend | str, key: Key | int) -> Self:
        """Move the network to the backend's device; its values do not change.

        Args:
            backend: A torch backend or its name.
            key: Random key; ignored, because PyTorch has initialised the parameters.

        Returns:
            This module.

        Raises:
            BackendError: The backend does not compute with torch.

        Examples:
            >>> import seqloom as sl, torch
            >>> net = sl.models.TorchModule(torch.nn.Linear(2, 1))
            >>> net.bind("torch", sl.Key(0)).backend
            torch
        """
        del key
        found = find_backend(backend) if isinstance(backend, str) else backend
        if not found.name.startswith("torch"):
            raise BackendError(
                f"{type(self.module).__name__} is a torch.nn.Module, which computes with "
                f'torch only, got backend={found.name!r}; give backend="torch"'
            )
        self.module.to(found.device or "cpu")
        for path, tensor in _list_tensors(self.module):
            part = self.stored[path]
            part.path, part.backend, part.array = path, found, tensor.data
            part.dtype = str(tensor.dtype).removeprefix("torch.")
        return self

    def to(self, backend: Backend | str, dtype: str | None = None) -> Self:
        """Move the network to another PyTorch device or element type.

        Args:
            backend: A torch backend or its name, such as ``"torch:cuda"``.
            dtype: Name of a float type; default: the current one.

        Returns:
            This module.

        Raises:
            BackendError: The backend does not compute with torch.

        Examples:
            >>> import seqloom as sl, torch
            >>> net = sl.models.TorchModule(torch.nn.Linear(2, 1)).to("torch", "float64")
            >>> net.module.weight.dtype
            torch.float64
        """
        if dtype is not None:
            import torch

            self.module.to(getattr(torch, dtype))
        return self.bind(backend, 0)

    def named(self, kind: type[Any] = object) -> Iterator[tuple[str, Any]]:
        """Yield parameters and buffers with their PyTorch names."""
        yield from ((path, it) for path, it in self.stored.items() if isinstance(it, kind))

    def train(self, mode: bool = True) -> Self:  # noqa: FBT001, FBT002 - as torch's
        """Set training mode for this module and the PyTorch network."""
        self.module.train(mode)
        return super().train(mode)

    def map(self, change: Callable[[str, Tensor], Any]) -> Self:
        """Copy the module and the PyTorch network, with new values."""
        twin = type(self)(deepcopy(self.module)).bind(self.backend, 0)
        for path, part in twin.stored.items():
            part.assign(change(path, part.value))
        twin.update_torch()
        return twin

    def to_record(self) -> Record:
        """Return copies of the current values by the names in PyTorch's ``state_dict``.

        Returns:
            A record; a shared tensor is stored under each of its names.
        """
        record = super().to_record().copy()  # PyTorch overwrites buffers in place
        aliases = _list_aliases(self.module)
        return record | Record({alias: record[path] for alias, path in aliases.items()})

    def load_record(
        self, record: Mapping[str, Any], *, keys: KeyMap | None = None, **options: Any
    ) -> Self:
        """Load parameters and buffers into this module and the PyTorch network."""
        require_mapping(record)
        aliases = _list_aliases(self.module)
        super().load_record(_join_aliases(rename_arrays(record, keys), aliases), **options)
        self.update_torch()
        return self

    def forward(self, *args: Any, **options: Any) -> Any:
        """Compute the outputs of the PyTorch network, without gradients.

        Args:
            *args: Arguments of the network's ``forward``; seqloom tensors are converted
                to PyTorch.
            **options: Keyword arguments of the network's ``forward``.

        Returns:
            The outputs; a PyTorch tensor is converted to a seqloom tensor.

        Examples:
            >>> import seqloom as sl, torch
            >>> net = sl.models.TorchModule(torch.nn.Linear(2, 1)).bind("torch", 0)
            >>> net(net.backend.tensor([[1.0, 2.0]])).shape
            (1, 1)
        """
        import torch

        with torch.no_grad():
            found = self.compute(*args, **options)
        is_tensor = isinstance(found, torch.Tensor)
        return Tensor(found, self.backend) if is_tensor else found

    def compute(self, *args: Any, **options: Any) -> Any:
        """Compute the outputs as PyTorch tensors, recorded by PyTorch's autograd."""
        named = {name: to_torch(value) for name, value in options.items()}
        return self.module(*map(to_torch, args), **named)

    def gradients_of(self, loss: Any) -> Gradients:
        """Compute the gradients of a PyTorch loss for the trainable parameters."""
        import torch

        found = dict(self.module.named_parameters())
        params = {path: it for path, it in self.parameters() if found[path].requires_grad}
        if not loss.requires_grad:
            raise GradientError("the loss does not depend on any trainable parameter")
        tensors = [found[path] for path in params]
        arrays: Any = torch.autograd.grad(loss, tensors, allow_unused=True)
        pairs = zip(params.values(), arrays, strict=True)
        known = {param.id: array for param, array in pairs if array is not None}
        return Gradients(known, self.backend)

    def update_torch(self) -> None:
        """Make each PyTorch tensor use its parameter's current array."""
        for path, tensor in _list_tensors(self.module):
            array = self.stored[path].array
            if array.data_ptr() != tensor.data_ptr():
                tensor.data = array

    @contextmanager
    def seeded(self, key: Any) -> Generator[None]:
        """Seed PyTorch from a key inside the block; afterwards, restore the generators."""
        torch: Any = sys.modules["torch"]
        high, low = key.to_json()
        devices = [self.backend.device] if "cuda" in str(self.backend.device) else []
        with torch.random.fork_rng(devices=devices):
            _seed_generators((high << 32 | low) & (1 << 63) - 1, self.backend.device)
            yield

    @contextmanager
    def evaluating(self, key: Any) -> Generator[None]:
        """Seed PyTorch from a key, and disable gradients, inside the block."""
        import torch

        with self.seeded(key), torch.no_grad():
            yield

    def __repr__(self) -> str:
        return f"TorchModule({type(self.module).__name__})"


def is_torch(value: object) -> bool:
    """Return whether a value is a ``torch.nn.Module``, without importing PyTorch."""
    # Another thread may be importing PyTorch at this moment.
    nn = getattr(sys.modules.get("torch"), "nn", None)
    return isinstance(value, getattr(nn, "Module", ()))


def as_module(value: Any) -> Any:
    """Wrap a torch.nn.Module; return any other value unchanged."""
    return TorchModule(value) if is_torch(value) else value


def to_torch(value: Any) -> Any:
    """Return the PyTorch tensor in a seqloom tensor; return any other value unchanged."""
    return value.raw if isinstance(value, Tensor) else value


def _seed_generators(number: int, device: str) -> None:
    """Seed the PyTorch generators of the CPU and of a device."""
    # torch.manual_seed takes 0.16 ms per step (AMD EPYC, AVX-512), because for each
    # unused type of device it stores the call with its stack.
    torch: Any = sys.modules["torch"]
    torch.default_generator.manual_seed(number)
    kind = torch.device(device or "cpu").type
    if kind != "cpu":
        module = getattr(torch, kind)
        getattr(module, "manual_seed_all", module.manual_seed)(number)


def _list_tensors(module: Any) -> Iterator[tuple[str, Any]]:
    """Yield each parameter and each persistent buffer once."""
    kept = module.state_dict(keep_vars=True)
    yield from module.named_parameters()
    yield from ((path, it) for path, it in module.named_buffers() if path in kept)


def _list_aliases(module: Any) -> dict[str, str]:
    """Map the additional names of each shared tensor to its first name."""
    first = {id(tensor): path for path, tensor in _list_tensors(module)}
    kept = module.state_dict(keep_vars=True)
    paths = ((name, first.get(id(tensor))) for name, tensor in kept.items())
    return {name: path for name, path in paths if path is not None and path != name}


def _join_aliases(values: dict[str, Any], aliases: dict[str, str]) -> dict[str, Any]:
    """Drop the additional names of shared tensors; raise if the values differ."""
    for alias, path in aliases.items():
        if alias not in values:
            continue
        value = values.pop(alias)
        if path not in values:
            values[path] = value
            continue
        one, other = np.asarray(values[path]), np.asarray(value)
        if (one.shape, one.tobytes()) != (other.shape, other.tobytes()):
            raise RecordError(
                f"{alias} and {path} are one tensor of this network, but the record has "
                f"different values for them; omit one: keys={{{alias!r}: None}}"
            )
    return values


def _check_sizes(module: Any) -> None:
    """Raise for lazy layers, which have no parameters before their first batch."""
    tensors = (*module.named_parameters(), *module.named_buffers())
    is_lazy: Any = sys.modules["torch"].nn.parameter.is_lazy
    if lazy := [path for path, tensor in tensors if is_lazy(tensor)]:
        raise ArgumentError(
            f"{type(module).__name__} has lazy layers, whose sizes are not known yet "
            f"({', '.join(lazy[:3])}). Call the network once on a batch, such as "
            'net(torch.as_tensor(data.batch([0])["inputs"])), or pass the sizes'
        )


def _make_array(tensor: Any) -> Param | Buffer:
    """Create a parameter or buffer from values that PyTorch has initialised."""
    shape, name = tuple(tensor.shape), str(tensor.dtype).removeprefix("torch.")
    torch: Any = sys.modules["torch"]
    if not isinstance(tensor, torch.nn.Parameter):
        return Buffer(shape, Fill(0.0), dtype=name)
    return Param(shape, Fill(0.0), dtype=name, trainable=bool(tensor.requires_grad))
