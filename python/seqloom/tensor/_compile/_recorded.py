"""The arguments and results of a recorded call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from seqloom.tensor._compile._key import SymbolKey
from seqloom.tensor._compile._symbol import Symbol

if TYPE_CHECKING:
    from collections.abc import Iterable

# These take a Python number for an array without making it one.
NUMBERS_ALONE = frozenset(
    {"asarray", "full", "adamw", "sgd", "dropout", "clip_by_global_norm"}
)
# What gives a number of numbers alone, by an operator of Python's.
ARITHMETIC = frozenset(
    {"add", "subtract", "multiply", "divide", "pow", "negative", "abs", "remainder"}
    | {"floor_divide", "positive"}
)


def has_symbol(tree: Iterable[Any]) -> bool:
    """Whether a symbol stands somewhere in arguments, and in lists and tuples of them."""
    for each in tree:
        if isinstance(each, (Symbol, SymbolKey)):
            return True
        if isinstance(each, (list, tuple)) and has_symbol(cast("list[Any]", each)):
            return True
    return False


def is_array(arg: Any) -> bool:
    """Whether an argument is some library's array; types have its attributes too."""
    return hasattr(arg, "shape") and hasattr(arg, "dtype") and not isinstance(arg, type)


def is_float(dtype: Any) -> bool:
    """Whether a type is of floats, half precision too."""
    return dtype.kind == "f" or "float" in dtype.name


def grouped(name: str, args: tuple[Any, ...], outputs: list[Symbol]) -> Any:
    """Several results as the function gives them: arrays, or lists of arrays."""
    if name not in LISTS:
        return tuple(outputs)
    queue = iter(outputs)
    lists = [[next(queue) for _ in args[place]] for place in LISTS[name]]
    return (*lists, *queue)


# Functions that give lists of arrays, each as long as the argument in that place; what is
# left over comes as single arrays.
LISTS: dict[str, tuple[int, ...]] = {
    "adamw": (0, 2, 3),
    "sgd": (0, 2),
    "clip_by_global_norm": (0,),
}
