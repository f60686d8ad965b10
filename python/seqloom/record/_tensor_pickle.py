"""Follows the pickle of a file of torch.save as far as tensors and plain values go.

Nothing is imported or called that the file names: a name that is not in the tables here
ends the reading with an error. `pickletools` splits the program into instructions.
"""

from __future__ import annotations

import pickletools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import ml_dtypes
import numpy as np

from seqloom.errors import RecordError

if TYPE_CHECKING:
    from collections.abc import Callable

_DTYPES: dict[str, np.dtype[Any]] = {
    name: np.dtype(kind)
    for name, kind in {
        "DoubleStorage": "f8",
        "FloatStorage": "f4",
        "HalfStorage": "f2",
        "BFloat16Storage": ml_dtypes.bfloat16,
        "LongStorage": "i8",
        "IntStorage": "i4",
        "ShortStorage": "i2",
        "CharStorage": "i1",
        "ByteStorage": "u1",
        "BoolStorage": "?",
        "ComplexFloatStorage": "c8",
        "ComplexDoubleStorage": "c16",
        # The types without a class of storages, by their own names.
        "uint16": "u2",
        "uint32": "u4",
        "uint64": "u8",
        "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
        "float8_e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
        "float8_e5m2": ml_dtypes.float8_e5m2,
        "float8_e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
        "float8_e8m0fnu": ml_dtypes.float8_e8m0fnu,
    }.items()
}
# The functions that a pickle of tensors calls; here their names are all that is needed.
_CALLS = frozenset(
    {
        "collections.OrderedDict",
        "torch.Size",
        "torch._utils._rebuild_parameter",
        "torch._utils._rebuild_tensor_v2",
        "torch._utils._rebuild_tensor_v3",
        "torch.storage.UntypedStorage",
    }
)
_STORAGE = "torch."
# What to do in torch with a tensor that no array can hold, by the name that it needs.
_CONVERSIONS = {
    "torch._utils._rebuild_qtensor": "tensor.dequantize()",
    "torch._utils._rebuild_sparse_tensor": "tensor.to_dense()",
    "torch.complex32": "tensor.to(torch.complex64)",
}
_MARK = object()


@dataclass(frozen=True, slots=True)
class TensorEntry:
    """A tensor as the pickle describes it; strides and offset count numbers."""

    key: str
    dtype: np.dtype[Any]
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    is_conjugate: bool = False  # whether the numbers are those of the storage, conjugated
    is_negative: bool = False  # and whether they are negated then


@dataclass(frozen=True, slots=True)
class PickledName:
    """A class or a function that the pickle names."""

    name: str


class PickledStorage(NamedTuple):
    """The bytes of one or several tensors."""

    key: str
    dtype: np.dtype[Any] | None  # None where each tensor names its own


def read_pickle(file: str, data: bytes) -> Any:
    """Return nested dicts, lists and tuples of tensors and plain values."""
    machine = _Machine(file)
    try:
        for code, argument, _ in pickletools.genops(data):
            machine.step(code.name, argument)
    except RecordError:
        raise
    except (ValueError, IndexError, KeyError, TypeError, AttributeError) as error:
        raise RecordError(f"{file}: its pickle is damaged ({error})") from None
    if len(machine.stack) != 1:
        raise RecordError(f"{file}: its pickle is damaged (it does not end)")
    return machine.stack[0]


class _Machine:
    """The stack and the memory of a pickle."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.stack: list[Any] = []
        self.memory: dict[int, Any] = {}

    def step(self, name: str, argument: Any) -> None:
        """Follow one instruction."""
        if name in _CONSTANTS:
            self.stack.append(_CONSTANTS[name]())
        elif name in _LITERALS:
            self.stack.append(argument)
        elif name in _ACTIONS:
            _ACTIONS[name](self, argument)
        elif name not in _IGNORED:
            raise RecordError(
                f"{self.file}: its pickle has the instruction {name}, which tensors do not "
                "need; it is not followed"
            )

    def remember(self, number: int) -> None:
        """Store the last value under a number."""
        self.memory[number] = self.stack[-1]

    def pop_to_mark(self) -> list[Any]:
        """Take what was put on the stack since the last mark."""
        place = len(self.stack) - 1
        while self.stack[place] is not _MARK:
            place -= 1
            if place < 0:
                raise ValueError("a mark is missing")
        found = self.stack[place + 1 :]
        del self.stack[place:]
        return found

    def find_name(self, argument: str) -> None:
        """Put a name on the stack, if it is one that tensors need."""
        name = argument.replace(" ", ".")
        needs = f"{self.file}: needs {name} to be loaded"
        if name in _CONVERSIONS:
            raise RecordError(
                f"{needs}, and no array holds such a tensor; load the file in torch, and "
                f"save {_CONVERSIONS[name]} in place of the tensor"
            )
        if name not in _CALLS and name.removeprefix(_STORAGE) not in _DTYPES:
            raise RecordError(
                f"{needs}, which may run code; it is not. Load the file in torch, and save "
                "a dict of its tensors: model.state_dict(), converted to types that NumPy "
                "has"
            )
        self.stack.append(PickledName(name))

    def find_name_of_stack(self) -> None:
        """Take module and name from the stack."""
        name, module = self.stack.pop(), self.stack.pop()
        self.find_name(f"{module} {name}")

    def find_storage(self) -> None:
        """Replace the description of a storage."""
        kind, name, key, _, _ = self.stack.pop()[:5]
        if kind != "storage" or not isinstance(key, str):
            raise ValueError("a storage is not described")
        is_untyped = name.name == "torch.storage.UntypedStorage"
        dtype = None if is_untyped else _DTYPES[name.name.removeprefix(_STORAGE)]
        self.stack.append(PickledStorage(key, dtype))

    def call(self) -> None:
        """Make what the call of a known name would make."""
        arguments, function = self.stack.pop(), self.stack.pop()
        if function == PickledName("collections.OrderedDict"):
            self.stack.append(dict(*arguments))
        elif function == PickledName("torch.Size"):
            self.stack.append(tuple(arguments[0]))
        elif function == PickledName("torch._utils._rebuild_parameter"):
            self.stack.append(arguments[0])
        elif function == PickledName("torch._utils._rebuild_tensor_v2"):
            self.stack.append(_make_entry(self.file, arguments))
        elif function == PickledName("torch._utils._rebuild_tensor_v3"):
            storage, *rest = arguments
            dtype = _DTYPES[rest.pop(5).name.removeprefix(_STORAGE)]
            typed = storage._replace(dtype=dtype)
            self.stack.append(_make_entry(self.file, (typed, *rest)))
        else:
            raise RecordError(
                f"{self.file}: its pickle calls {function}; it is not followed"
            )

    def set_items(self) -> None:
        """Put pairs into a dict."""
        pairs = self.pop_to_mark()
        self.stack[-1].update(zip(pairs[::2], pairs[1::2], strict=True))

    def set_item(self) -> None:
        """Put a pair into a dict."""
        value, key = self.stack.pop(), self.stack.pop()
        self.stack[-1].update({key: value})

    def extend(self) -> None:
        """Add items to a list."""
        items = self.pop_to_mark()
        self.stack[-1].extend(items)

    def append(self) -> None:
        """Add an item to a list."""
        item = self.stack.pop()
        self.stack[-1].append(item)

    def make_tuple(self, size: int) -> None:
        """Make a tuple of the last values."""
        values = tuple(self.stack[-size:])
        del self.stack[-size:]
        self.stack.append(values)

    def set_state(self) -> None:
        """Drop the attributes of an OrderedDict, such as those of torch's state dicts."""
        self.stack.pop()
        if not isinstance(self.stack[-1], dict):
            raise RecordError(
                f"{self.file}: its pickle sets attributes; it is not followed"
            )


def _make_entry(file: str, arguments: tuple[Any, ...]) -> TensorEntry:
    """Return a tensor; refuses numbers that make no sense."""
    storage, offset, shape, strides = arguments[:4]
    numbers = (offset, *shape, *strides)
    if not isinstance(storage, PickledStorage) or len(shape) != len(strides):
        raise ValueError("a tensor is not described")
    if any(type(number) is not int or number < 0 for number in numbers):
        raise ValueError("a tensor has impossible sizes")
    key, dtype = storage
    if dtype is None:
        raise ValueError("a tensor has no element type")
    views = _find_views(file, dtype, arguments[6:])
    return TensorEntry(key, dtype, offset, tuple(shape), tuple(strides), *views)


def _find_views(
    file: str, dtype: np.dtype[Any], described: tuple[Any, ...]
) -> tuple[bool, bool]:
    """Return whether a tensor is a conjugate and a negative that torch put off."""
    metadata: dict[str, Any] = dict(described[0] or {}) if described else {}
    is_conjugate, is_negative = (bool(metadata.pop(name, False)) for name in _VIEWS)
    is_possible = not (is_negative and dtype.kind == "b")
    if len(described) > 1 or metadata or not is_possible:
        raise RecordError(
            f"{file}: says of a tensor of {dtype} what is not known here "
            f"({', '.join(map(repr, metadata)) or 'neg'}); load it in torch, and save "
            "tensor.resolve_conj().resolve_neg()"
        )
    return is_conjugate, is_negative


_VIEWS = ("conj", "neg")
_CONSTANTS: dict[str, Callable[[], Any]] = {
    "EMPTY_DICT": dict,
    "EMPTY_LIST": list,
    "EMPTY_TUPLE": tuple,
    "MARK": lambda: _MARK,
    "NEWFALSE": lambda: False,
    "NEWTRUE": lambda: True,
    "NONE": lambda: None,
}
_LITERALS = frozenset(
    {
        "BINFLOAT",
        "BININT",
        "BININT1",
        "BININT2",
        "BINUNICODE",
        "BINUNICODE8",
        "LONG1",
        "SHORT_BINUNICODE",
    }
)
_IGNORED = frozenset({"FRAME", "PROTO", "STOP"})
_ACTIONS: dict[str, Callable[[_Machine, Any], None]] = {
    "APPEND": lambda machine, _: machine.append(),
    "APPENDS": lambda machine, _: machine.extend(),
    "BINGET": lambda machine, number: machine.stack.append(machine.memory[number]),
    "BINPERSID": lambda machine, _: machine.find_storage(),
    "BINPUT": lambda machine, number: machine.remember(number),
    "BUILD": lambda machine, _: machine.set_state(),
    "GLOBAL": lambda machine, name: machine.find_name(name),
    "LONG_BINGET": lambda machine, number: machine.stack.append(machine.memory[number]),
    "LONG_BINPUT": lambda machine, number: machine.remember(number),
    "MEMOIZE": lambda machine, _: machine.remember(len(machine.memory)),
    "REDUCE": lambda machine, _: machine.call(),
    "SETITEM": lambda machine, _: machine.set_item(),
    "SETITEMS": lambda machine, _: machine.set_items(),
    "STACK_GLOBAL": lambda machine, _: machine.find_name_of_stack(),
    "TUPLE": lambda machine, _: machine.stack.append(tuple(machine.pop_to_mark())),
    "TUPLE1": lambda machine, _: machine.make_tuple(1),
    "TUPLE2": lambda machine, _: machine.make_tuple(2),
    "TUPLE3": lambda machine, _: machine.make_tuple(3),
}
