"""`compile`, which turns a training step into a program."""

from __future__ import annotations

import inspect
import os
import threading
from functools import partial, update_wrapper
from typing import TYPE_CHECKING, Any, TypeGuard, cast, overload

from seqloom._warning import warn_user
from seqloom.errors import ArgumentError
from seqloom.tensor._compile._code import require_unchanged_generators
from seqloom.tensor._compile._environment import OutsideValues
from seqloom.tensor._compile._program import Program, Signature, lock_holders
from seqloom.tensor._compile._trace import trace_step

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
# A warning is issued when this number of programs has been compiled.
_PROGRAMS_BEFORE_WARNING = 8
# At most this number of programs is cached, because programs use memory.
_MAX_PROGRAMS = 64


@overload
def compile(function: Callable[..., Any], *, enabled: bool = True) -> Compiled: ...  # noqa: A001
@overload
def compile(  # noqa: A001
    function: None = None, *, enabled: bool = True
) -> Callable[[Callable[..., Any]], Compiled]: ...
def compile(function: Any = None, *, enabled: bool = True) -> Any:  # noqa: A001  # as torch's
    """Compile a training step (forward, backward, optimiser) into one program.

    At the first call, the function runs on symbols, and its operations are recorded in a
    graph. The NumPy backend runs the graph with fused operations and preallocated memory.
    PyTorch and JAX compile it with ``torch.compile`` or ``jax.jit``.

    Tensors, NumPy arrays, Python floats and keys are inputs: their values may differ
    between calls. Modules and optimisers are state: the program reads and updates them.
    Integers, booleans (including NumPy booleans), strings, modes and shapes are constants:
    for a new value, a new program is compiled. The step may also read values that are not
    arguments, such as global variables and fields of modules. The outside values are
    compared before each call, and a change causes a new compilation. A value that
    cannot be compared raises an error at the first call. A result may share memory with
    an argument tensor, but never with a NumPy array. At most 64 programs are cached;
    the least recently used are dropped first.

    The environment variable ``SEQLOOM_COMPILE=0`` disables compilation everywhere.

    Args:
        function: The training step to compile. The arguments and results of the step
            are tensors, arrays, numbers, keys, modules, optimisers, or dicts, lists and
            tuples of these. Inside the step, arrays, floats and keys are symbols: they
            have a shape but no value.
        enabled: If False, the function is not compiled.

    Returns:
        The compiled function, with the same arguments; its attribute ``recompiles`` is the
        number of programs compiled after the first. If `function` is not given, a
        decorator is returned.

    Raises:
        CaptureError: The step needs the value of a symbol, or uses a module that is not an
            argument. The step draws random numbers without a key, or reads the clock. The
            step changes a value outside of the step, or reads an outside value that
            cannot be compared. Iterators, arrays above 1 MiB and objects implemented in
            C cannot be compared. The step reads more than 10,000 outside values.

    Examples:
        >>> import seqloom as sl
        >>> model = sl.nn.Linear(2, 1).bind("numpy", sl.Key(0))
        >>> optimizer = sl.optim.AdamW()
        >>> @sl.tensor.compile
        ... def step(model, optimizer, lr, x):
        ...     loss_and_grads = sl.nn.value_and_grad(lambda model: (model(x) ** 2).mean())
        ...     loss, grads = loss_and_grads(model)
        ...     return optimizer.step(lr, model, grads), loss
        >>> x = model.backend.tensor([[1.0, 2.0]])
        >>> losses = [step(model, optimizer, 0.1 / (n + 1), x)[1].item() for n in range(9)]
        >>> losses[-1] < losses[0], step.recompiles, optimizer.step_count
        (True, 0, 9)
    """
    if function is None:
        return partial(Compiled, enabled=enabled)
    return Compiled(function, enabled=enabled)


class Compiled:
    """A compiled step, with its cached programs."""

    def __init__(self, function: Callable[..., Any], *, enabled: bool = True) -> None:
        self.enabled = enabled
        self._function = function
        # One environment per signature key.
        self._environments: dict[Any, OutsideValues] = {}
        # Cached programs: tuples of signature key, environment and state number.
        self._cached: list[tuple[Any, OutsideValues, int]] = []
        self._count = 0
        self._last: Any = None  # Key and outside values of the newest program.
        self.renew_lock()
        lock_holders.add(self)
        self._parameters = inspect.signature(function)
        # Number of positional arguments of the step; -1 if the step has `*args`.
        kinds = [parameter.kind for parameter in self._parameters.parameters.values()]
        is_fixed = all(kind in _POSITIONAL for kind in kinds)
        self._arity = len(kinds) if is_fixed else -1
        update_wrapper(cast("Any", self), function)

    @property
    def recompiles(self) -> int:
        """Number of programs compiled after the first."""
        return max(self._count - 1, 0)

    def renew_lock(self) -> None:
        """Create a new lock; a forked process may inherit a lock that is never released."""
        self._lock = threading.RLock()

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """Return the compiled step as a method bound to an instance."""
        return self if instance is None else _BoundMethod(self, instance)

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Run the program for these arguments; compile a program first if there is none."""
        if not self.enabled or os.environ.get("SEQLOOM_COMPILE") == "0":
            return self._function(*args, **options)
        arguments = self._bind_arguments(args, options)
        signature = Signature(arguments)
        # The compiled step is called inside another compiled step or a gradient.
        if signature.decorated:
            return self._function(*args, **options)
        if signature.backend is None:
            raise ArgumentError(
                "the backend of the compiled step is unknown, because no argument is a "
                "tensor or a bound module; pass backend.tensor(array)"
            )
        return (self._lookup(signature.key) or self._build(arguments, signature))(signature)

    def _lookup(self, key: object) -> Program | None:
        """Return the cached program for a signature and the outside values, or None."""
        environment = self._environments.get(key)
        return environment and environment.programs.get(environment.find_state())

    def _bind_arguments(self, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """Return the positional and keyword arguments with the defaults filled in."""
        if len(args) == self._arity and not options:
            return args, options
        bound = self._parameters.bind(*args, **options)
        bound.apply_defaults()
        return bound.args, bound.kwargs

    def _build(self, arguments: object, signature: Signature) -> Callable[[Signature], Any]:
        """Compile a program for new arguments or new values outside of the step."""
        with self._lock:
            # Another thread may have created optimiser state in the meantime.
            signature = Signature(arguments)
            program, after = self._lookup(signature.key), signature
            if program is None:
                # Capture the step, then raise if it reads values that cannot be
                # compared.
                found = self._environments.get(signature.key)
                environment = found or OutsideValues(self._function, signature.key)
                state, values = environment.find_state(), environment.describe()
                # Check before the capture, because the capture would advance an
                # iterator.
                environment.require_comparable()
                generators = environment.find_generators()
                executed: set[CodeType] = set()
                program, after = trace_step(
                    self._function, arguments, signature, self._lookup, executed=executed
                )
                require_unchanged_generators(generators)
                environment.require_comparable(executed)
                environment.require_unchanged()
                if self._environments.setdefault(after.key, environment) is environment:
                    self._cache_program((after.key, environment, state), program, values)
        return lambda _: program(after)

    def _cache_program(
        self, place: tuple[Any, OutsideValues, int], program: Program, values: Any
    ) -> None:
        """Cache a program; if the cache is full, drop a program that is not in use."""
        key, environment, state = place
        if len(self._cached) >= _MAX_PROGRAMS:
            self._drop_oldest()
        self._cached.append(place)
        environment.programs[state] = program
        before, self._last, self._count = (self._last, (key, values), self._count + 1)
        if self._count == _PROGRAMS_BEFORE_WARNING:
            self._warn_of_recompiles(before, self._last)

    def _drop_oldest(self) -> None:
        """Drop the oldest cached program that was not called since the previous drop."""
        programs = [environment.programs[state] for _, environment, state in self._cached]
        first = next(
            (at for at, program in enumerate(programs) if not program.called), None
        )
        for program in programs[:first]:
            program.called = False
        key, environment, state = self._cached.pop(first or 0)
        self._cached = [*self._cached[first or 0 :], *self._cached[: first or 0]]
        environment.drop_program(state)
        if not environment.programs:
            del self._environments[key]

    def _warn_of_recompiles(self, before: object, last: object) -> None:
        """Warn that many programs were compiled; state the reason for the last program."""
        name = getattr(self._function, "__name__", "a step")
        warn_user(
            f"{name} was compiled {_PROGRAMS_BEFORE_WARNING} times; the last time because "
            f"of {_describe_difference(before, last)}. Each new shape, integer, boolean, "
            "string or outside value compiles a new program. Pass values that change as "
            "floats or tensors, and pad batches to few shapes",
            RuntimeWarning,
        )


class _BoundMethod:
    """A compiled method of one instance."""

    def __init__(self, compiled: Compiled, instance: Any) -> None:
        self._compiled, self._instance = compiled, instance

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self._compiled(self._instance, *args, **options)

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the compiled function."""
        return getattr(self._compiled, name)


def _describe_difference(before: object, after: object) -> str:
    """Describe the first difference of keys, such as ``"(64, 4) instead of (32, 4)"``."""
    if _is_tuple(before) and _is_tuple(after):
        pairs = list(zip(before, after, strict=False))
        unequal = [pair for pair in pairs if pair[0] != pair[1]]
        # Tuples of numbers are shapes, which are shown in full.
        is_shape = all(type(part) is int for part in after)
        if unequal and len(before) == len(after) and not is_shape:
            return _describe_difference(*unequal[0])
    return f"{_shorten_text(after)} instead of {_shorten_text(before)}"


def _shorten_text(value: object) -> str:
    """Return the value as text, shortened to 80 characters."""
    text = repr(value)
    return text if len(text) < 80 else f"{text[:77]}..."  # noqa: PLR2004


def _is_tuple(value: object) -> TypeGuard[tuple[object, ...]]:
    return isinstance(value, tuple)
