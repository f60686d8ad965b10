"""Finds calls that return another value each time: clocks and random numbers.

While a step is captured, a profile function (`sys.setprofile`) sees each call on this
thread. It checks the calls in the user's own code, and skips the calls inside libraries.
The states of random generators that the step can reach are compared before and after.
"""

from __future__ import annotations

import datetime as dt
import random
import sys
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom.errors import CaptureError
from seqloom.tensor._compile._code import STDLIB_FOLDERS
from seqloom.tensor._origin import is_internal

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable
    from types import CodeType, FrameType

# fmt: off
_C_FUNCTIONS = {
    "time": {"time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic",
             "monotonic_ns", "process_time", "process_time_ns", "thread_time",
             "thread_time_ns"},
    "posix": {"urandom", "getrandom"},
    "torch": {"bernoulli", "multinomial", "normal", "poisson", "rand", "rand_like",
              "randint", "randint_like", "randn", "randn_like", "randperm"},
}
_TORCH_METHODS = frozenset({
    "bernoulli", "bernoulli_", "cauchy_", "exponential_", "geometric_", "log_normal_",
    "multinomial", "normal_", "random_", "uniform_",
})
_DATE_METHODS = frozenset({"now", "today", "utcnow"})
_PYTHON_FUNCTIONS = {"uuid": {"uuid1", "uuid4"}}
# fmt: on


@contextmanager
def refuse_impure_calls(executed: set[CodeType]) -> Generator[None]:
    """Collects the code that runs in the block; then refuses impure calls in it."""
    # Does nothing if this thread has another profile function, such as cProfile's.
    if sys.getprofile() is not None:
        yield
        return
    watch = _Watch(executed)
    sys.setprofile(watch)
    try:
        yield
    finally:
        sys.setprofile(None)
    if found := watch.found:
        raise CaptureError(
            f"{found[0]} inside a compiled step: the value changes at each call, but the "
            "compiled step would repeat the first",
            advice=". Make the call before the step and pass "
            "the value as an argument; for random numbers use a key (sl.Key)",
        )


class _Watch:
    """The profile function: it is called twice for each call, so it decides quickly."""

    def __init__(self, executed: set[CodeType]) -> None:
        self.found: list[str] = []
        self._executed = executed

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        """Notes an impure call, if this event is one."""
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
            self.found.append(f"{line} {_describe(name)}")


class unwatched:  # noqa: N801  # a context manager
    """Switches the watch of this thread off for a block that runs library code only."""

    def __enter__(self) -> None:
        self._watch = sys.getprofile()
        if type(self._watch) is _Watch:
            sys.setprofile(None)

    def __exit__(self, *_: object) -> None:
        if type(self._watch) is _Watch:
            sys.setprofile(self._watch)


def _describe(name: str) -> str:
    """Says in words what a call does."""
    is_clock = name.startswith("time.") or name.rsplit(".", maxsplit=1)[-1] in _DATE_METHODS
    return f"calls {name}" if is_clock else f"draws from a random generator with {name}"


@cache
def _is_user_file(name: str) -> bool:
    """Returns True for a file of the user's code, not of a library."""
    is_library = "site-packages" in name or name.startswith((*STDLIB_FOLDERS, "<frozen"))
    return not (is_library or is_internal(name))


def _name_c_call(function: Any) -> str | None:
    """Returns the name of a C function that is impure; None for any other."""
    name, owner = function.__name__, getattr(function, "__self__", None)
    module = getattr(function, "__module__", None) or ""
    owner_module = type(cast("Any", owner)).__module__
    if name in _C_FUNCTIONS.get(module, ()):
        return f"{module}.{name}"
    if name in _DATE_METHODS and isinstance(owner, type) and issubclass(owner, dt.date):
        return f"{owner.__name__}.{name}"
    if name in _TORCH_METHODS and owner_module.startswith("torch"):
        return f"torch.Tensor.{name}"
    return f"random.{name}" if _is_shared(owner) and name != "setstate" else None


def _name_python_call(frame: FrameType) -> str | None:
    """Returns the name of a Python function that is impure; None for any other."""
    name, module = frame.f_code.co_name, frame.f_globals.get("__name__", "")
    if name in _PYTHON_FUNCTIONS.get(module, ()) or module == "secrets":
        return f"{module}.{name}"
    if name == "rvs" and module.startswith("scipy."):
        return "the method rvs of scipy.stats"
    if module != "random" or not _is_shared(frame.f_locals.get("self")):
        return None
    return f"random.{name}" if name not in ("seed", "setstate", "getstate") else None


def _is_shared(generator: Any) -> bool:
    """Returns True for the global generator of `random`, and for a `SystemRandom`."""
    shared = getattr(random.random, "__self__", None)  # noqa: S311  # no number is drawn
    if generator is None:
        return False
    return generator is shared or isinstance(generator, random.SystemRandom)


def list_shared(names: set[str]) -> list[object]:
    """Returns the generators that NumPy and Python share, if code names ``random``."""
    functions: list[Any] = [np.random.random, random.random]  # noqa: S311  # not called
    return [function.__self__ for function in functions] if "random" in names else []


def find_generators(values: Iterable[object]) -> list[tuple[object, object]]:
    """Returns the random generators among values, each with its state."""
    return [(value, state) for value in values if (state := _find_state(value)) is not None]


def require_undrawn(before: list[tuple[object, object]]) -> None:
    """Refuses a step that has drawn from a generator since `find_generators`."""
    for generator, state in before:
        if _find_state(generator) != state:
            raise CaptureError(
                f"the compiled step draws from a {type(generator).__name__} outside of it; "
                "the program would repeat this draw at every call. Draw before the step "
                "and pass the numbers, or use a key (sl.Key)"
            )


def _find_state(value: object) -> object:
    """Returns the state of a random generator; None for any other object."""
    if isinstance(value, np.random.Generator):
        return repr(value.bit_generator.state)
    if isinstance(value, np.random.RandomState):
        return repr(value.get_state(legacy=False))
    if isinstance(value, random.Random):  # noqa: S311  # the user's
        return value.getstate()
    return None
