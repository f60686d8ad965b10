"""Interpret the pickle in a torch.save file, limited to tensors and plain values.

No class or function that the file names is imported or called. A name that is not in
the tables below raises an error. `pickletools` splits the pickle program into
instructions.
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
        # Element types that have no storage class in PyTorch, by name.
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
# Functions that a pickle of tensors calls; only their names are needed.
_KNOWN_FUNCTIONS = frozenset(
    {
        "collections.OrderedDict",
        "torch.Size",
        "torch._utils._rebuild_parameter",
        "torch._utils._rebuild_tensor_v2",
        "torch._utils._rebuild_tensor_v3",
        "torch.storage.UntypedStorage",
    }
)
_TORCH_PREFIX = "torch."
# Conversions of tensors that arrays cannot represent, by the name in the pickle. The
# user must convert the tensor in PyTorch and save the result.
_CONVERSION_HINTS = {
    "torch._utils._rebuild_qtensor": "tensor.dequantize()",
    "torch._utils._rebuild_sparse_tensor": "tensor.to_dense()",
    "torch.complex32": "tensor.to(torch.complex64)",
}
_LIST_START = object()


@dataclass(frozen=True, slots=True)
class TensorEntry:
    """Tensor as described in the pickle; strides and offset are in elements."""

    key: str
    dtype: np.dtype[Any]
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    is_conjugate: bool = False  # True if the tensor is the conjugate of its storage
    is_negative: bool = False  # True if the tensor is the negative of its storage


@dataclass(frozen=True, slots=True)
class PickledName:
    """Class or function that is named in the pickle."""

    name: str


class PickledStorage(NamedTuple):
    """Storage in the archive: the bytes of one or more tensors."""

    key: str
    dtype: np.dtype[Any] | None  # None if the dtype is stored with each tensor instead


def read_pickle(file: str, data: bytes) -> Any:
    """Return nested dicts, lists and tuples of tensor entries and plain values."""
    machine = _PickleMachine(file)
    try:
        for code, argument, _ in pickletools.genops(data):
            machine.run_instruction(code.name, argument)
    except RecordError:
        raise
    except (ValueError, IndexError, KeyError, TypeError, AttributeError) as error:
        raise RecordError(f"{file}: its pickle is damaged ({error})") from None
    if len(machine.stack) != 1:
        raise RecordError(f"{file}: its pickle is damaged (its end is missing)")
    return machine.stack[0]


class _PickleMachine:
    """Stack and memo of the pickle program."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.stack: list[Any] = []
        self.memory: dict[int, Any] = {}

    def run_instruction(self, name: str, argument: Any) -> None:
        """Execute one instruction of the pickle."""
        if name in _CONSTANT_INSTRUCTIONS:
            self.stack.append(_CONSTANT_INSTRUCTIONS[name]())
        elif name in _LITERAL_INSTRUCTIONS:
            self.stack.append(argument)
        elif name in _INSTRUCTION_METHODS:
            _INSTRUCTION_METHODS[name](self, argument)
        elif name not in _IGNORED_INSTRUCTIONS:
            raise RecordError(
                f"{self.file}: its pickle has the instruction {name}, which tensors do not "
                "need and seqloom does not execute"
            )

    def memoize_top(self, number: int) -> None:
        """Store the top of the stack in the memo of the pickle."""
        self.memory[number] = self.stack[-1]

    def pop_to_mark(self) -> list[Any]:
        """Pop and return the values above the last mark of the stack."""
        place = len(self.stack) - 1
        while self.stack[place] is not _LIST_START:
            place -= 1
            if place < 0:
                raise ValueError("a mark is missing")
        found = self.stack[place + 1 :]
        del self.stack[place:]
        return found

    def push_name(self, argument: str) -> None:
        """Push a global name if tensors need the name; otherwise raise."""
        name = argument.replace(" ", ".")
        needs = f"{self.file}: needs {name} to be loaded"
        if name in _CONVERSION_HINTS:
            raise RecordError(
                f"{needs}, but arrays cannot represent such tensors; load it in torch "
                f"and save {_CONVERSION_HINTS[name]} instead of the tensor"
            )
        if name not in _KNOWN_FUNCTIONS and name.removeprefix(_TORCH_PREFIX) not in _DTYPES:
            raise RecordError(
                f"{needs}, which may run code, so it is not loaded. If you trust the file, "
                "save its tensors: torch.save(torch.load('old.pt', "
                "weights_only=False).state_dict(), 'new.pt')"
            )
        self.stack.append(PickledName(name))

    def push_name_of_stack(self) -> None:
        """Pop a module and a name, and push the full name."""
        name, module = self.stack.pop(), self.stack.pop()
        self.push_name(f"{module} {name}")

    def push_storage(self) -> None:
        """Replace the description of a storage by a `PickledStorage`."""
        kind, name, key, _, _ = self.stack.pop()[:5]
        if kind != "storage" or not isinstance(key, str):
            raise ValueError("a storage has no valid description")
        is_untyped = name.name == "torch.storage.UntypedStorage"
        dtype = None if is_untyped else _DTYPES[name.name.removeprefix(_TORCH_PREFIX)]
        self.stack.append(PickledStorage(key, dtype))

    def call_function(self) -> None:
        """Replace a known function and its arguments by the result of the function."""
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
            dtype = _DTYPES[rest.pop(5).name.removeprefix(_TORCH_PREFIX)]
            typed = storage._replace(dtype=dtype)
            self.stack.append(_make_entry(self.file, (typed, *rest)))
        else:
            raise RecordError(
                f"{self.file}: its pickle calls {function}, which is not supported"
            )

    def set_items(self) -> None:
        """Add popped pairs to a dict."""
        pairs = self.pop_to_mark()
        self.stack[-1].update(zip(pairs[::2], pairs[1::2], strict=True))

    def set_item(self) -> None:
        """Add a popped pair to a dict."""
        value, key = self.stack.pop(), self.stack.pop()
        self.stack[-1].update({key: value})

    def extend(self) -> None:
        """Append popped items to a list."""
        items = self.pop_to_mark()
        self.stack[-1].extend(items)

    def append(self) -> None:
        """Append a popped item to a list."""
        item = self.stack.pop()
        self.stack[-1].append(item)

    def make_tuple(self, size: int) -> None:
        """Combine the top values into a tuple."""
        values = tuple(self.stack[-size:])
        del self.stack[-size:]
        self.stack.append(values)

    def drop_state(self) -> None:
        """Drop the attributes of an OrderedDict, such as the metadata of state dicts."""
        self.stack.pop()
        if not isinstance(self.stack[-1], dict):
            raise RecordError(
                f"{self.file}: its pickle sets attributes, which is not supported"
            )


def _make_entry(file: str, arguments: tuple[Any, ...]) -> TensorEntry:
    """Return a tensor entry; raise if its shape, strides or offset are invalid."""
    storage, offset, shape, strides = arguments[:4]
    numbers = (offset, *shape, *strides)
    if not isinstance(storage, PickledStorage) or len(shape) != len(strides):
        raise ValueError("a tensor has no valid description")
    if any(type(number) is not int or number < 0 for number in numbers):
        raise ValueError("a tensor has impossible sizes")
    key, dtype = storage
    if dtype is None:
        raise ValueError("a tensor has no element type")
    views = _read_pending_flags(file, dtype, arguments[6:])
    return TensorEntry(key, dtype, offset, tuple(shape), tuple(strides), *views)


def _read_pending_flags(
    file: str, dtype: np.dtype[Any], described: tuple[Any, ...]
) -> tuple[bool, bool]:
    """Return whether a tensor is the conjugate or the negative of its storage."""
    metadata: dict[str, Any] = dict(described[0] or {}) if described else {}
    is_conjugate, is_negative = (bool(metadata.pop(name, False)) for name in _PENDING_FLAGS)
    is_possible = not (is_negative and dtype.kind == "b")
    if len(described) > 1 or metadata or not is_possible:
        raise RecordError(
            f"{file}: has unknown properties of a tensor of {dtype} "
            f"({', '.join(map(repr, metadata)) or 'neg'}); load it in torch, and save "
            "tensor.resolve_conj().resolve_neg()"
        )
    return is_conjugate, is_negative


_PENDING_FLAGS = ("conj", "neg")
_CONSTANT_INSTRUCTIONS: dict[str, Callable[[], Any]] = {
    "EMPTY_DICT": dict,
    "EMPTY_LIST": list,
    "EMPTY_TUPLE": tuple,
    "MARK": lambda: _LIST_START,
    "NEWFALSE": lambda: False,
    "NEWTRUE": lambda: True,
    "NONE": lambda: None,
}
_LITERAL_INSTRUCTIONS = frozenset(
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
_IGNORED_INSTRUCTIONS = frozenset({"FRAME", "PROTO", "STOP"})
_INSTRUCTION_METHODS: dict[str, Callable[[_PickleMachine, Any], None]] = {
    "APPEND": lambda machine, _: machine.append(),
    "APPENDS": lambda machine, _: machine.extend(),
    "BINGET": lambda machine, number: machine.stack.append(machine.memory[number]),
    "BINPERSID": lambda machine, _: machine.push_storage(),
    "BINPUT": lambda machine, number: machine.memoize_top(number),
    "BUILD": lambda machine, _: machine.drop_state(),
    "GLOBAL": lambda machine, name: machine.push_name(name),
    "LONG_BINGET": lambda machine, number: machine.stack.append(machine.memory[number]),
    "LONG_BINPUT": lambda machine, number: machine.memoize_top(number),
    "MEMOIZE": lambda machine, _: machine.memoize_top(len(machine.memory)),
    "REDUCE": lambda machine, _: machine.call_function(),
    "SETITEM": lambda machine, _: machine.set_item(),
    "SETITEMS": lambda machine, _: machine.set_items(),
    "STACK_GLOBAL": lambda machine, _: machine.push_name_of_stack(),
    "TUPLE": lambda machine, _: machine.stack.append(tuple(machine.pop_to_mark())),
    "TUPLE1": lambda machine, _: machine.make_tuple(1),
    "TUPLE2": lambda machine, _: machine.make_tuple(2),
    "TUPLE3": lambda machine, _: machine.make_tuple(3),
}
