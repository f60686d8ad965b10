"""A backend that records every call as an operation, and computes nothing."""

from __future__ import annotations

from contextlib import contextmanager
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.errors import CaptureError
from seqloom.tensor._backend import REQUIRED_OPS, Backend
from seqloom.tensor._compile._code import no_profiling
from seqloom.tensor._compile._symbol import (
    KEY_OPERATIONS,
    VALUE_DEPENDENT_SHAPES,
    Symbol,
    SymbolKey,
    capturing,
    has_symbol,
    raise_no_value,
    replace_known_masks,
    require_known_shape,
    substitute_leaf,
)
from seqloom.tensor._dispatch import translate_error
from seqloom.tensor._families._rule import Call
from seqloom.tensor._families._table import infer_specs
from seqloom.tensor._graph import LIST_RESULTS, Graph, Operation, Value, flatten, values_in
from seqloom.tensor._origin import current_line, suspend_scopes

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from seqloom.tensor._backend import Array
    from seqloom.tensor._leaves import Leaf

    Body = Callable[[list[Symbol], list[Symbol]], tuple[Sequence[Array], Sequence[Array]]]


# Functions that accept Python numbers together with arrays, without converting the
# numbers.
MIXED_NUMBER_FUNCTIONS = frozenset(
    {"asarray", "full", "adamw", "sgd", "dropout", "clip_by_global_norm"}
)
# Functions that return a Python number in an uncompiled step if all arguments are
# numbers.
_ARITHMETIC = frozenset(
    {"add", "subtract", "multiply", "divide", "pow", "negative", "abs", "remainder"}
    | {"floor_divide", "positive"}
)
# Functions that are not recorded, because they compute no arrays.
_UNRECORDED = frozenset({"finfo", "iinfo", "isdtype", "from_dlpack", "tensor", "program"})


class Capture(Backend):
    """A backend that records the calls of a step for a target backend.

    A function that the target backend overrides is recorded as one operation. For any other
    function, the default implementation runs and its operations are recorded. If no
    argument of a call is a symbol, the call is computed immediately: its result is the same
    in every run of the program.
    """

    records = True

    def __init__(self, target: Backend) -> None:
        self.inner = self.target = target
        self.name = f"capture({target.name})"
        self.threads = target.threads
        self.recorder = GraphRecorder(target)
        # Each leaf tensor and its graph value, by the id of the leaf tensor.
        self.admitted: dict[int, tuple[Leaf, Value]] = {}
        self._undo: list[Callable[[], None]] = []
        # Numbers of the graph values that are Python numbers in an uncompiled step.
        self._number_results: set[int] = set()
        for name in _list_recorded(target):
            setattr(self, name, partial(self.record, name))

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the target backend, or a function that records a call."""
        if name.startswith("_") or name in ("target", "differentiable"):
            raise AttributeError(name)
        found = getattr(self.target, name)
        return partial(self.record, name) if callable(found) else found

    # Leaves and thread of the captured step ---------------------------------------------

    def add_leaf(self, leaf: Leaf) -> Leaf:
        """Make a leaf tensor an input; until `restore`, a symbol replaces its array."""
        array = leaf.on(self.target)
        value = self.recorder.new_value(array.shape, self.target.dtype(array))
        self.recorder.root.inputs.append(value)
        self.admitted[id(leaf)] = (leaf, value)
        self._undo.append(substitute_leaf(leaf, Symbol(value), self))
        return leaf

    @contextmanager
    def run_on_thread(self) -> Generator[None]:
        """Mark this thread as the thread that runs the step on symbols."""
        token = capturing.set(self)
        try:
            with suspend_scopes():  # symbols take no memory
                yield
        finally:
            capturing.reset(token)

    def restore_leaves(self) -> None:
        """Restore the arrays of all leaf tensors."""
        for undo in reversed(self._undo):
            undo()
        self._undo.clear()

    # Recording of a call ----------------------------------------------------------------

    def record(self, name: str, *args: Any, **options: Any) -> Any:
        """Record one call, or compute it if none of its arguments is a symbol."""
        if options and has_symbol(options.values()):
            raise CaptureError(
                f"{current_line()}: in a compiled step the tensor arguments of {name} must "
                "be passed by position, not by keyword"
            )
        if not has_symbol(args):
            return getattr(self.target, name)(*args, **options)
        with no_profiling():
            require_known_shape(name, args)
            if name in KEY_OPERATIONS:
                args = (args[0], replace_known_masks(self.target, args[1]), *args[2:])
            values = tuple(self.recorder.to_value(arg) for arg in args)
            is_number = name in _ARITHMETIC and all(map(self._is_number, values_in(values)))
            if name not in MIXED_NUMBER_FUNCTIONS:
                values = self._promote_numbers(values)
            kinds, several = self._infer_specs(name, values, options)
            outputs = self.recorder.append(name, values, options, kinds)
            if is_number:
                self._number_results.update(symbol.value.number for symbol in outputs)
            return _nest_results(name, values, outputs) if several else outputs[0]

    def _is_number(self, value: Value) -> bool:
        """Return whether a value is a number, or computed only from numbers."""
        return value.weak or value.number in self._number_results

    def _promote_numbers(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Cast numbers to the dtype of the arrays, to avoid promotion to a wider dtype."""
        arrays = [value for value in values_in(args) if not self._is_number(value)]
        if not arrays and all(value.weak for value in values_in(args)):
            return tuple(self._to_default_float(arg) for arg in args)
        # NumPy's dtype kind of bfloat16 and other small floats is not "f".
        dtypes = {
            it.dtype for it in arrays if it.dtype.kind == "f" or "float" in it.dtype.name
        }
        if len(dtypes) != 1 or self._number_results.isdisjoint(
            value.number for value in values_in(args)
        ):
            return args
        return tuple(self._cast_number(arg, *dtypes) for arg in args)

    def _cast_number(self, arg: Any, dtype: np.dtype[Any]) -> Any:
        """Cast an argument to a dtype if it is computed only from numbers."""
        is_computed = isinstance(arg, Value) and arg.number in self._number_results
        if not is_computed or arg.dtype == dtype:
            return arg
        return self.recorder.append("astype", (arg, dtype), {}, [((), dtype)])[0].value

    def _to_default_float(self, arg: object) -> Any:
        """Convert a number to an array of the default float type."""
        if not isinstance(arg, Value):
            return arg
        dtype = self.target.dtype(self.target.asarray(1.0))
        options = {"dtype": dtype}
        return self.recorder.append("asarray", (arg,), options, [((), dtype)])[0].value

    def _infer_specs(
        self, name: str, args: tuple[Any, ...], options: dict[str, Any]
    ) -> tuple[list[Spec], bool]:
        """Return the shapes and dtypes of the results; errors name the user's line."""
        try:
            call = Call(self.target, name, args, options)
            return infer_specs(call, self._run_default)
        except Exception as error:
            ours = translate_error(error, name, args, self.target)
            if ours is error:
                raise
            raise type(ours)(f"{current_line()}: {ours}") from error

    def _run_default(self, call: Call) -> Spec | list[Spec]:
        """Return the shapes and dtypes of the results of a default implementation."""
        scratch = self._scratch
        scratch.recorder = GraphRecorder(self.target)
        body = getattr(Backend, call.name)
        result = body(scratch, *_to_symbols(call.args), **call.options)
        kinds = [(array.shape, scratch.dtype(array)) for array in flatten(result)]
        return kinds if isinstance(result, (list, tuple)) else kinds[0]

    @cached_property
    def _scratch(self) -> Capture:
        return Capture(self.target)

    # Functions that are not recorded in the usual way -----------------------------------

    def asarray(self, data: Any, dtype: Any = None, *, copy: bool | None = None) -> Array:
        """Cast a symbol if needed; convert other data to an array of the target backend."""
        if not isinstance(data, Symbol):
            # The program keeps a copy of constants, because the user may change the
            # original.
            own = True if isinstance(data, np.ndarray) else copy
            return self.target.asarray(data, dtype=dtype, copy=own)
        if dtype is None:
            return data
        wanted = self.target.dtype(self.target.zeros((), dtype=dtype))
        return data if wanted == data.dtype else self.astype(data, dtype)

    def accumulate(self, total: Array, more: Array) -> Array:
        """Return the sum of two arrays; the compiler chooses the memory of the result."""
        return self.add(total, more)

    def key_words(self, key: Any) -> Array:
        """Return the two integers of a random key as a symbol or an array."""
        if isinstance(key, SymbolKey):
            return key.symbol
        return key if isinstance(key, Symbol) else self.target.key_words(key)

    def to_numpy(self, x: Array) -> Any:
        """Return the values of a constant; raise for a symbol."""
        if isinstance(x, Symbol):
            raise_no_value("its values")
        return self.target.to_numpy(x)

    def dtype(self, x: Array) -> np.dtype[Any]:
        """Return the element type."""
        return x.dtype if isinstance(x, Symbol) else self.target.dtype(x)

    def nbytes(self, x: Array) -> int:
        """Return the number of bytes that the array will have."""
        return x.value.nbytes if isinstance(x, Symbol) else self.target.nbytes(x)

    def result_type(self, *args: Any) -> Any:
        """Return the dtype to which the target promotes the arguments."""
        dtypes = [arg.dtype if isinstance(arg, Symbol) else arg for arg in args]
        return self.target.result_type(*dtypes)

    def sync(self) -> None:
        """Do nothing, because a capture computes nothing."""

    def scan(
        self,
        body: Callable[..., Any],
        init: Sequence[Array],
        xs: Sequence[Array],
        *,
        length: int,
        reverse: bool = False,
    ) -> tuple[list[Array], list[Array]]:
        """Record a loop as one operation, with its body as a separate graph."""
        recorder = self.recorder
        first, rows = recorder.to_values(init), recorder.to_values(xs)
        graph = recorder.record_body(body, first, rows)
        known = {value.number for value in graph.inputs}
        free: dict[int, Value] = {}
        for operation in graph.operations:
            for value in operation.inputs():
                if value.number not in known:
                    free[value.number] = value
            known |= {value.number for value in operation.outputs}
        free |= {v.number: v for v in values_in(graph.outputs) if v.number not in known}
        around = list(free.values())
        graph.inputs += around
        carry, outputs = graph.outputs[: len(first)], graph.outputs[len(first) :]
        kinds = [(value.shape, value.dtype) for value in carry]
        kinds += [((length, *value.shape), value.dtype) for value in outputs]
        options = {"body": graph, "length": length, "reverse": reverse}
        results = recorder.append("scan", (first, rows, around), options, kinds)
        return results[: len(first)], results[len(first) :]


def _to_symbols(arg: Any) -> Any:
    """Return an argument in which each graph value is replaced by a symbol."""
    if isinstance(arg, Value):
        return Symbol(arg)
    if type(arg) in (list, tuple):
        return type(arg)(_to_symbols(part) for part in arg)
    return arg


def _nest_results(name: str, args: tuple[Any, ...], outputs: list[Symbol]) -> Any:
    """Return the results as the function returns them: arrays or lists of arrays."""
    if name not in LIST_RESULTS:
        return tuple(outputs)
    queue = iter(outputs)
    lists = [[next(queue) for _ in args[position]] for position in LIST_RESULTS[name]]
    return (*lists, *queue)


def _list_recorded(target: Backend) -> Iterator[str]:
    """Yield the names of functions that are recorded as one operation."""
    for name in dir(Backend):
        is_free = not name.startswith("_") and name not in vars(Capture)
        is_own = getattr(type(target), name, None) is not getattr(Backend, name)
        if (
            is_free
            and is_own
            and name not in _UNRECORDED
            and callable(getattr(target, name, None))
        ):
            yield name
    yield from (name for name in REQUIRED_OPS - _UNRECORDED if name not in vars(Capture))
    yield from (name for name in VALUE_DEPENDENT_SHAPES if hasattr(Backend, name))


Spec = tuple[tuple[int, ...], np.dtype[Any]]


class GraphRecorder:
    """Adds values, constants and operations to a graph."""

    def __init__(self, target: Backend) -> None:
        # While a loop is recorded, `graph` is the loop body.
        self.graph = self.root = Graph()
        self._target = target
        self._count = 0
        # Stores the arrays too, because a freed array's id can be reused.
        self._constants: dict[int, tuple[Value, Array]] = {}

    def new_value(
        self, shape: tuple[int, ...], dtype: np.dtype[Any] | str, *, weak: bool = False
    ) -> Value:
        """Create a new graph value."""
        self._count += 1
        return Value(self._count - 1, tuple(shape), np.dtype(dtype), weak)

    def new_input(
        self, shape: tuple[int, ...], dtype: np.dtype[Any] | str, *, weak: bool = False
    ) -> Symbol:
        """Add an input to the graph."""
        value = self.new_value(shape, dtype, weak=weak)
        self.graph.inputs.append(value)
        return Symbol(value)

    def append(
        self, name: str, args: tuple[Any, ...], options: dict[str, Any], kinds: list[Spec]
    ) -> list[Symbol]:
        """Add an operation whose results have the given shapes and dtypes."""
        outputs = tuple(self.new_value(shape, dtype) for shape, dtype in kinds)
        operation = Operation(name, args, options, outputs, current_line())
        self.graph.operations.append(operation)
        return [Symbol(value) for value in outputs]

    def to_value(self, arg: Any) -> Any:
        """Return an argument with each symbol and array replaced by a graph value."""
        if isinstance(arg, Symbol):
            return arg.value
        if isinstance(arg, SymbolKey):
            return arg.symbol.value
        if type(arg) in (list, tuple):
            return type(arg)(self.to_value(part) for part in arg)
        # Dtype classes have these attributes too, but are not arrays.
        is_array = hasattr(arg, "shape") and hasattr(arg, "dtype")
        return self._find_constant(arg) if is_array and not isinstance(arg, type) else arg

    def to_values(self, arrays: Sequence[Array]) -> list[Value]:
        """Return the graph values of symbols and arrays."""
        return [self.to_value(array) for array in arrays]

    def _find_constant(self, array: Array) -> Value:
        """Return the graph value of a constant array."""
        known = self._constants.get(id(array))
        if known is None:
            own = self._target.asarray(array)
            value = self.new_value(own.shape, self._target.dtype(own))
            self.root.constants[value.number] = own
            known = self._constants[id(array)] = (value, array)
        return known[0]

    def record_body(self, body: Body, init: list[Value], xs: list[Value]) -> Graph:
        """Return the graph of one iteration of a loop."""
        outer, self.graph = self.graph, Graph()
        try:
            carry = [self.new_input(value.shape, value.dtype) for value in init]
            row = [self.new_input(value.shape[1:], value.dtype) for value in xs]
            carry_out, outputs = body(carry, row)
            self.graph.outputs = [*self.to_values(carry_out), *self.to_values(outputs)]
            return self.graph
        finally:
            self.graph = outer
