"""Finds the variables that a function reads, and its impure calls.

During capture, a profile function (`sys.setprofile`) receives each call on this thread. The
profile function checks calls from the user's code for clocks and random generators, and
skips calls from libraries. The states of random generators that the step can reach are
compared before and after the capture.
"""

from __future__ import annotations

import builtins
import datetime as dt
import dis
import random
import sys
import sysconfig
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.util import resolve_name
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom.errors import CaptureError
from seqloom.tensor._leaves import make_identity
from seqloom.tensor._origin import PACKAGE_FOLDER, is_internal

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
    from types import FrameType


_LIBRARY_MODULES = frozenset({*sys.stdlib_module_names, "numpy", "torch", "jax", "seqloom"})
STDLIB_FOLDERS = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib")})


class NoValue:
    """Marks a variable without a value."""


@dataclass(slots=True)
class Snapshot:
    """Description of a value, with functions that read the value again."""

    description: object  # A hashable object; equal values have equal forms.
    # A function that returns the contents, which are compared by identity.
    read: Callable[[Any], list[Any]] | None = None
    # Pairs of a path suffix and a part of the value, such as an attribute.
    parts: Sequence[tuple[str, Any]] = ()
    # A function that returns a checksum of the value, for comparison.
    digest: Callable[[Any], object] | None = None
    problem: str = ""  # The reason why the value cannot be compared.


def list_attributes(value: object) -> list[tuple[str, Any]]:
    """Return the attributes of an object, each with its name after a dot."""
    return [(f".{name}", item) for name, item in getattr(value, "__dict__", {}).items()]


def describe_function(function: FunctionType, *, with_defaults: bool = True) -> Snapshot:
    """Describe a function by its code, the variables that it names and its imports."""
    code, around = function.__code__, function.__globals__
    loads = () if is_in_library(function) else _find_globals(code)
    names = [name for name in loads if name in around or not hasattr(builtins, name)]
    imports = _list_imports(function)
    read = _make_reader(function, names, imports)
    variables = [*code.co_freevars, *names]
    parts: list[tuple[str, Any]] = list(zip(variables, read(function), strict=False))
    # If the first call imports a module, the description of the function has an
    # additional part at the next call.
    parts += [(name, sys.modules[name]) for name in imports if name in sys.modules]
    if with_defaults:
        defaults = function.__defaults__ or ()
        arguments = code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount]
        by_name = dict(zip(arguments, defaults, strict=True)) | (
            function.__kwdefaults__ or {}
        )
        parts += [(f"{function.__name__}({name})", by_name[name]) for name in by_name]
        parts += list_attributes(function)
    form = (FunctionType, make_identity(code))
    return Snapshot(form, read if parts or imports else None, parts)


def _make_reader(
    function: FunctionType, names: list[str], imports: list[str]
) -> Callable[[Any], list[Any]]:
    """Return a function that reads a function's variables, imports and defaults."""
    cells, get, modules = function.__closure__ or (), function.__globals__.get, sys.modules

    def read(function: FunctionType) -> list[Any]:
        values = [read_closure_cell(cell) for cell in cells]
        values += [get(name, NoValue) for name in names]
        values += [modules.get(name, NoValue) for name in imports]
        values += function.__defaults__ or ()
        values += [function.__code__, *(function.__kwdefaults__ or {}).values()]
        return [*values, *function.__dict__.values()] if function.__dict__ else values

    return read


def _list_imports(function: FunctionType) -> list[str]:
    """Return the names of the modules that a user function imports."""
    if is_in_library(function):
        return []
    package = function.__globals__.get("__package__")
    return [
        resolve_name("." * level + name, package) if level and package else name
        for level, name in _find_imports(function.__code__)
    ]


def read_closure_cell(cell: Any) -> Any:
    """Return the value of a closure variable."""
    try:
        return cell.cell_contents
    except ValueError:  # The closure variable has no value yet.
        return NoValue


@lru_cache(4096)
def _find_globals(code: CodeType) -> tuple[str, ...]:
    """Return the global names that a code object and its inner functions load."""
    lines = (
        line for part in list_code_objects(code) for line in dis.get_instructions(part)
    )
    loads = (line for line in lines if line.opname in ("LOAD_GLOBAL", "LOAD_NAME"))
    return tuple(dict.fromkeys(line.argval for line in loads))


@lru_cache(4096)
def _find_imports(code: CodeType) -> tuple[tuple[int, str], ...]:
    """Return the imports in a code object and its inner functions: level and module."""
    found: dict[tuple[int, str], None] = {}
    for part in list_code_objects(code):
        loads: list[Any] = []
        for line in dis.get_instructions(part):
            # Earlier instructions load the level and the imported names.
            if line.opname == "IMPORT_NAME":
                found[loads[-2], line.argval] = None
            elif line.opname.startswith("LOAD"):
                loads.append(line.argval)
    return tuple(found)


@lru_cache(4096)
def find_names(code: CodeType) -> frozenset[str]:
    """Return the names and strings in a code object, including attribute names."""
    codes = list(list_code_objects(code))
    texts = (item for part in codes for item in part.co_consts if isinstance(item, str))
    return frozenset(texts).union(*(part.co_names for part in codes))


def list_code_objects(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and the code objects of its inner functions."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from list_code_objects(constant)


@lru_cache(4096)
def _is_library_file(filename: str) -> bool:
    is_package = filename.startswith((str(PACKAGE_FOLDER), *STDLIB_FOLDERS))
    return is_package or "site-packages" in filename


def is_in_library(value: Any) -> bool:
    """Return True if a module, class or function belongs to a library."""
    if isinstance(value, FunctionType):
        return _is_library_file(value.__code__.co_filename)
    name: str = value.__name__ if isinstance(value, ModuleType) else value.__module__
    if name.partition(".")[0] in _LIBRARY_MODULES:
        return True
    module = value if isinstance(value, ModuleType) else sys.modules.get(name)
    return _is_library_file(getattr(module, "__file__", None) or "")


# fmt: off
_IMPURE_C_FUNCTIONS = {
    "time": {"time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic",
             "monotonic_ns", "process_time", "process_time_ns", "thread_time",
             "thread_time_ns"},
    "posix": {"urandom", "getrandom"},
    "torch": {"bernoulli", "multinomial", "normal", "poisson", "rand", "rand_like",
              "randint", "randint_like", "randn", "randn_like", "randperm"},
}
_RANDOM_METHODS = frozenset({
    "bernoulli", "bernoulli_", "cauchy_", "exponential_", "geometric_", "log_normal_",
    "multinomial", "normal_", "random_", "uniform_",
})
_CLOCK_METHODS = frozenset({"now", "today", "utcnow"})
_IMPURE_FUNCTIONS = {"uuid": {"uuid1", "uuid4"}}
# fmt: on


@contextmanager
def reject_impure_calls(executed: set[CodeType]) -> Generator[None]:
    """Collect the code that runs in the block, and raise if it made impure calls."""
    # Do nothing if this thread has another profile function, such as that of cProfile.
    if sys.getprofile() is not None:
        yield
        return
    watch = _CallProfiler(executed)
    sys.setprofile(watch)
    try:
        yield
    finally:
        sys.setprofile(None)
    if found := watch.found:
        raise CaptureError(
            f"{found[0]} inside a compiled step: the value changes at each call, but the "
            "compiled step would repeat the first value",
            advice=". Make the call before the step and pass "
            "the value as an argument; for random numbers use a key (sl.Key)",
        )


class _CallProfiler:
    """The profile function, which must be fast: Python runs it twice for each call."""

    def __init__(self, executed: set[CodeType]) -> None:
        self.found: list[str] = []
        self._executed = executed

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        name = None
        if event == "c_call":
            if _is_user_file(frame.f_code.co_filename):
                name = _name_c_call(arg)
        elif event == "call" and (caller := frame.f_back) is not None:
            self._executed.add(frame.f_code)
            is_user = _is_user_file(caller.f_code.co_filename)
            name, frame = _name_python_call(frame) if is_user else None, caller
        if name is not None:
            line = f"{frame.f_code.co_filename}:{frame.f_lineno}"
            last = name.rpartition(".")[2]
            is_clock = name.startswith("time.") or last in _CLOCK_METHODS
            what = "calls" if is_clock else "draws from a random generator with"
            self.found.append(f"{line} {what} {name}")


class no_profiling:  # noqa: N801  # a context manager
    """Disables the profile function of this thread for a block of library code."""

    def __enter__(self) -> None:
        self._watch = sys.getprofile()
        if type(self._watch) is _CallProfiler:
            sys.setprofile(None)

    def __exit__(self, *_: object) -> None:
        if type(self._watch) is _CallProfiler:
            sys.setprofile(self._watch)


@cache
def _is_user_file(name: str) -> bool:
    """Return True if a file contains user code."""
    is_library = "site-packages" in name or name.startswith((*STDLIB_FOLDERS, "<frozen"))
    return not (is_library or is_internal(name))


def _name_c_call(function: Any) -> str | None:
    """Return the name of an impure C function, or None for other functions."""
    name, owner = function.__name__, getattr(function, "__self__", None)
    module = getattr(function, "__module__", None) or ""
    owner_module = type(cast("Any", owner)).__module__
    if name in _IMPURE_C_FUNCTIONS.get(module, ()):
        return f"{module}.{name}"
    if name in _CLOCK_METHODS and isinstance(owner, type) and issubclass(owner, dt.date):
        return f"{owner.__name__}.{name}"
    if name in _RANDOM_METHODS and owner_module.startswith("torch"):
        return f"torch.Tensor.{name}"
    return f"random.{name}" if _is_global_generator(owner) and name != "setstate" else None


def _name_python_call(frame: FrameType) -> str | None:
    """Return the name of an impure Python function, or None for other functions."""
    name, module = frame.f_code.co_name, frame.f_globals.get("__name__", "")
    if name in _IMPURE_FUNCTIONS.get(module, ()) or module == "secrets":
        return f"{module}.{name}"
    if name == "rvs" and module.startswith("scipy."):
        return "the method rvs of scipy.stats"
    if module != "random" or not _is_global_generator(frame.f_locals.get("self")):
        return None
    return f"random.{name}" if name not in ("seed", "setstate", "getstate") else None


def _is_global_generator(generator: Any) -> bool:
    """Return True for the global generator of Python, and for a `SystemRandom`."""
    shared = getattr(random.random, "__self__", None)  # noqa: S311  # no number is drawn
    if generator is None:
        return False
    return generator is shared or isinstance(generator, random.SystemRandom)


def global_generators(names: set[str]) -> list[object]:
    """Return the global generators of NumPy and Python if ``random`` is among `names`."""
    functions: list[Any] = [np.random.random, random.random]  # noqa: S311  # not called
    return [function.__self__ for function in functions] if "random" in names else []


def find_generators(values: Iterable[object]) -> list[tuple[object, object]]:
    """Return the random generators among the values, with their states."""
    return [
        (value, state) for value in values if (state := _get_rng_state(value)) is not None
    ]


def require_unchanged_generators(before: list[tuple[object, object]]) -> None:
    """Raise if the state of a generator differs from the earlier state."""
    for generator, state in before:
        if _get_rng_state(generator) != state:
            raise CaptureError(
                f"the compiled step draws from a {type(generator).__name__} outside of it, "
                "and would repeat these numbers at every call. Draw before the step and "
                "pass the numbers, or use a key (sl.Key)"
            )


def _get_rng_state(value: object) -> object:
    """Return the state of a random generator, or None for other objects."""
    if isinstance(value, np.random.Generator):
        return repr(value.bit_generator.state)
    if isinstance(value, np.random.RandomState):
        return repr(value.get_state(legacy=False))
    if isinstance(value, random.Random):  # noqa: S311  # from user code
        return value.getstate()
    return None
