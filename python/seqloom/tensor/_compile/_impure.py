"""Calls that give another value each time: clocks, draws of random numbers.

While a step is captured, Python tells of each call on this thread. What the step's own code
calls, and that of the user's helpers, is looked at; what libraries call within is not.
"""

from __future__ import annotations

import datetime as dt
import random
import sys
import sysconfig
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from seqloom.errors import CaptureError
from seqloom.tensor._memory._origin import is_machinery

if TYPE_CHECKING:
    from collections.abc import Generator
    from types import FrameType

# fmt: off
_OF_C = {
    "time": {"time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic",
             "monotonic_ns", "process_time", "process_time_ns", "thread_time",
             "thread_time_ns"},
    "posix": {"urandom", "getrandom"},
    "torch": {"bernoulli", "multinomial", "normal", "poisson", "rand", "rand_like",
              "randint", "randint_like", "randn", "randn_like", "randperm"},
}
_OF_TORCHS_ARRAYS = frozenset({
    "bernoulli", "bernoulli_", "cauchy_", "exponential_", "geometric_", "log_normal_",
    "multinomial", "normal_", "random_", "uniform_",
})
_OF_DATES = frozenset({"now", "today", "utcnow"})
_OF_PYTHON = {"uuid": {"uuid1", "uuid4"}}
# fmt: on
_STANDARD = tuple({sysconfig.get_path(each) for each in ("stdlib", "platstdlib")})


@contextmanager
def impure_calls_refused() -> Generator[None]:
    """Refuses, at its end, a step that made such a call meanwhile on this thread.

    Where somebody else profiles this thread, nothing is looked at.

    Raises:
        CaptureError: It names the first such call and its line.
    """
    if sys.getprofile() is not None:
        yield
        return
    found: list[str] = []

    def look(frame: FrameType, event: str, arg: Any) -> None:
        name = None
        if event == "c_call":
            name = _of_c(arg) if _is_users(frame) else None
        elif event == "call" and frame.f_back is not None:
            name = _of_python(frame) if _is_users(frame.f_back) else None
            frame = frame.f_back
        if name is not None:
            found.append(f"{frame.f_code.co_filename}:{frame.f_lineno} {_done(name)}")

    sys.setprofile(look)
    try:
        yield
    finally:
        sys.setprofile(None)
    if found:
        raise CaptureError(
            f"{found[0]} inside a compiled step, which gives another value at each call; "
            "the program would hold this one for good. Call it before the step and pass "
            "the value; for random numbers use a key (sl.Key)"
        )


def _done(name: str) -> str:
    """What was done by a call."""
    is_clock = name.startswith("time.") or name.rsplit(".", maxsplit=1)[-1] in _OF_DATES
    return f"calls {name}" if is_clock else f"draws from a generator by {name}"


def _is_users(frame: FrameType) -> bool:
    """Whether the frame is of code that is no library's."""
    name = frame.f_code.co_filename
    is_library = "site-packages" in name or name.startswith((*_STANDARD, "<frozen"))
    return not (is_library or is_machinery(name))


def _of_c(function: Any) -> str | None:
    """The name of a function in C that gives another value each time."""
    name, owner = function.__name__, getattr(function, "__self__", None)
    module = getattr(function, "__module__", None) or ""
    owner_module = type(cast("Any", owner)).__module__
    if name in _OF_C.get(module, ()):
        return f"{module}.{name}"
    if name in _OF_DATES and isinstance(owner, type) and issubclass(owner, dt.date):
        return f"{owner.__name__}.{name}"
    if name in _OF_TORCHS_ARRAYS and owner_module.startswith("torch"):
        return f"torch.Tensor.{name}"
    return f"random.{name}" if _is_shared(owner) and name != "setstate" else None


def _of_python(frame: FrameType) -> str | None:
    """The name of a function in Python that gives another value each time."""
    name, module = frame.f_code.co_name, frame.f_globals.get("__name__", "")
    if name in _OF_PYTHON.get(module, ()) or module == "secrets":
        return f"{module}.{name}"
    if name == "rvs" and module.startswith("scipy."):
        return "rvs of scipy.stats"
    if module != "random" or not _is_shared(frame.f_locals.get("self")):
        return None
    return f"random.{name}" if name not in ("seed", "setstate", "getstate") else None


def _is_shared(generator: Any) -> bool:
    """Whether a generator is the one of the module `random`, or the machine's own."""
    shared = getattr(random.random, "__self__", None)  # noqa: S311  # it only compares
    if generator is None:
        return False
    return generator is shared or isinstance(generator, random.SystemRandom)
