"""compile: makes a step one program."""

from __future__ import annotations

import inspect
import os
import threading
import warnings
from functools import partial, update_wrapper
from typing import TYPE_CHECKING, Any, cast, overload

from seqloom.errors import ArgumentError
from seqloom.tensor._compile._around import Around
from seqloom.tensor._compile._differences import difference
from seqloom.tensor._compile._drawn import require_undrawn
from seqloom.tensor._compile._locks import renewed
from seqloom.tensor._compile._signature import Signature
from seqloom.tensor._compile._trace import traced

if TYPE_CHECKING:
    from collections.abc import Callable

    from seqloom.tensor._compile._program import Program

# From so many programs on, somebody should know what makes them differ.
_MANY = 8
# So many are kept; each may hold memory.
_MOST = 64


@overload
def compile(function: Callable[..., Any], *, enabled: bool = True) -> Compiled: ...  # noqa: A001
@overload
def compile(  # noqa: A001
    function: None = None, *, enabled: bool = True
) -> Callable[[Callable[..., Any]], Compiled]: ...
def compile(function: Any = None, *, enabled: bool = True) -> Any:  # noqa: A001  # as torch's
    """Makes a step (forward, backward, optimiser) one program, made once and run often.

    The first call with arguments of some shapes runs the function on symbols and writes
    down what it asks of the backend; that graph is then planned (NumPy), or given to
    ``torch.compile`` or ``jax.jit``. Tensors, NumPy arrays, Python floats and keys are
    inputs: their values may differ at each call. Modules and optimisers are state, read
    before and written after. Ints and bools (NumPy's too), strings, modes and shapes decide
    which program it is: new ones make another one. So does what the function reads from
    around it by name (globals, what it closes over, their attributes, lists, arrays up to
    1 MiB), in its own code, in the user's functions that it names and in the modules'
    methods; a larger array is refused there. A result may share memory with a tensor that
    was given, never with an array of NumPy. At most 64 programs are kept, those in use
    first.

    The environment's ``SEQLOOM_COMPILE=0`` switches it off everywhere. NumPy's plans are
    kept in the folder of ``SEQLOOM_CACHE`` for the next process, but for
    ``SEQLOOM_PROGRAMS=0``.

    Args:
        function: The step. It takes and returns tensors, arrays, numbers, keys, modules,
            optimisers, and dicts, lists and tuples of them. Within it an array, a float
            and a key are symbols: they have a shape and no value.
        enabled: False runs the function as it is.

    Returns:
        A function of the same arguments; its ``recompiles`` counts the programs made after
        the first. Without `function`, a decorator.

    Raises:
        CaptureError: At a call, where the function asks for a value inside the step, uses
            a module that it was not given, draws random numbers without a key, asks for the
            time, or reads an iterator from around it.

    Examples:
        >>> import seqloom as sl
        >>> model = sl.nn.Linear(2, 1).bind("numpy", sl.Key(0))
        >>> optimizer = sl.optim.AdamW()
        >>> @sl.tensor.compile
        ... def step(model, optimizer, lr, x):
        ...     follow = sl.nn.value_and_grad(lambda model: (model(x) ** 2).mean())
        ...     loss, grads = follow(model)
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
    """A step with the programs that were made of it.

    Attributes:
        recompiles: How many programs were made after the first.

    Examples:
        >>> import seqloom as sl
        >>> twice = sl.tensor.compile(lambda x: x * 2)
        >>> B = sl.tensor.backend("numpy")
        >>> [twice(B.tensor([0.0] * n)).shape for n in (1, 2, 2)], twice.recompiles
        ([(1,), (2,), (2,)], 1)
    """

    def __init__(self, function: Callable[..., Any], *, enabled: bool = True) -> None:
        self.enabled = enabled
        self._function = function
        self._programs: dict[Any, Program] = {}
        self._made = 0
        self._last: Any = None  # the key of the newest program
        self._around: Around | None = None
        self.renew_lock()
        renewed.add(self)
        self._parameters = inspect.signature(function)
        self._arity = _arity(self._parameters)
        update_wrapper(cast("Any", self), function)

    @property
    def recompiles(self) -> int:
        """How many programs were made after the first."""
        return max(self._made - 1, 0)

    def renew_lock(self) -> None:
        """A new lock: a forked process has no thread that would free the old one."""
        self._lock = threading.RLock()

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """A method of an instance is the step with that instance first."""
        return self if instance is None else _Bound(self, instance)

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Runs the program of these arguments; makes it first where there is none."""
        if not self.enabled or os.environ.get("SEQLOOM_COMPILE") == "0":
            return self._function(*args, **options)
        arguments = self._bound(args, options)
        given = Signature(arguments)
        if given.decorated:  # within another step, or another function's gradient
            return self._function(*args, **options)
        if given.backend is None:
            raise ArgumentError(
                "none of the step's arguments is a tensor or a module, so there is no "
                "backend to compile for; pass backend.tensor(array)"
            )
        around = self._around.state() if self._around is not None else None
        program = self._programs.get((given.key, around))
        return (program or self._make(arguments, given))(given)

    def _bound(self, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """The arguments as one form, however they were passed."""
        if len(args) == self._arity and not options:
            return args, options
        bound = self._parameters.bind(*args, **options)
        bound.apply_defaults()
        return bound.args, bound.kwargs

    def _make(self, arguments: Any, given: Signature) -> Callable[[Signature], Any]:
        """The program of arguments that were not met before."""
        with self._lock:
            given = Signature(arguments)  # the thread before may have made states
            # Functions that it names may be others now, and name other things.
            self._around = Around(self._function, given.holders)
            around = self._around.state()
            if (given.key, around) in self._programs:
                program, after = self._programs[given.key, around], given
            else:
                same = {k: each for (k, a), each in self._programs.items() if a == around}
                before = self._around.generators()
                program, after = traced(self._function, arguments, given, same)
                require_undrawn(before)
                self._keep((after.key, around), program)
        return lambda _: program(after)

    def _keep(self, key: Any, program: Program) -> None:
        """Takes a program up; one that was not called lately makes room."""
        if key in self._programs:
            return
        if len(self._programs) >= _MOST:
            self._drop_one()
        self._programs[key] = program
        before, self._last, self._made = self._last, key, self._made + 1
        if self._made == _MANY:
            self._warn(before, key)

    def _drop_one(self) -> None:
        """Drops the oldest program that was not called since this was last asked."""
        for key, program in list(self._programs.items()):
            del self._programs[key]
            if not program.called:
                return
            program.called = False
            self._programs[key] = program
        del self._programs[next(iter(self._programs))]

    def _warn(self, before: Any, last: Any) -> None:
        """Says once that the programs are many, and what made the last one differ."""
        name = getattr(self._function, "__name__", "a step")
        warnings.warn(
            f"{name} was compiled {_MANY} times; the last time because of "
            f"{difference(before, last)}. Shapes, ints, bools and strings decide which "
            "program a step is; pass what changes as a float or a tensor, and pad batches "
            "to few shapes",
            RuntimeWarning,
            stacklevel=5,
        )


class _Bound:
    """A compiled method of one instance."""

    def __init__(self, compiled: Compiled, instance: Any) -> None:
        self._compiled, self._instance = compiled, instance

    def __call__(self, *args: Any, **options: Any) -> Any:
        """The step with the instance first."""
        return self._compiled(self._instance, *args, **options)

    def __getattr__(self, name: str) -> Any:
        """What the compiled function has."""
        return getattr(self._compiled, name)


def _arity(signature: inspect.Signature) -> int:
    """How many arguments make a call by position alone; -1 where there is no such form."""
    kinds = [each.kind for each in signature.parameters.values()]
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return len(kinds) if all(kind in plain for kind in kinds) else -1
