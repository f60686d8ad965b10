"""The same numbers in another shape: NumPy itself is asked, on views without memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from seqloom.tensor._compile._shapes._trial import promoted
from seqloom.tensor._graph import Value

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from seqloom.tensor._backend import Backend
    from seqloom.tensor._compile._shapes._trial import Kind, Rule, Shape

_BY_NUMPY = (
    "reshape permute_dims broadcast_to expand_dims squeeze matrix_transpose tile repeat"
)


def bare(shape: Shape, dtype: type[Any] = bool) -> NDArray[Any]:
    """An array of a shape that takes one element of memory."""
    return np.broadcast_to(np.zeros((), np.dtype(dtype)), shape)


def _by_numpy(name: str) -> Rule:
    """The rule of a function that NumPy has under the same name."""
    function: Callable[..., Any] = getattr(np, name)

    def rule(
        _target: Backend, _name: str, args: tuple[Any, ...], options: dict[str, Any]
    ) -> Kind:
        return function(bare(args[0].shape), *args[1:], **options).shape, args[0].dtype

    return rule


def _joined(
    target: Backend, name: str, args: tuple[Any, ...], options: dict[str, Any]
) -> Kind:
    """Arrays end to end along an axis; all one after the other where it is None."""
    shapes = [each.shape for each in args[0]]
    axis = options.get("axis", (*args, 0)[1])
    if axis is None:
        shape = (sum(each.size for each in map(bare, shapes)),)
    else:
        place = normalize_axis_index(axis, len(shapes[0]))
        lengths = sum(each[place] for each in _alike(shapes, place))
        shape = (*shapes[0][:place], lengths, *shapes[0][place + 1 :])
    return shape, promoted(target, name, args, {"axis": axis})


def _alike(shapes: list[Shape], place: int | None = None) -> list[Shape]:
    """The shapes, which must be equal but for the length of one axis."""
    rest = {
        (len(each), *(n for at, n in enumerate(each) if at != place)) for each in shapes
    }
    if len(rest) > 1:
        raise ValueError(f"shapes {', '.join(map(str, shapes))} do not go together")
    return shapes


def _stacked(
    target: Backend, name: str, args: tuple[Any, ...], options: dict[str, Any]
) -> Kind:
    """Arrays side by side along a new axis."""
    shape = list(_alike([each.shape for each in args[0]])[0])
    axis = normalize_axis_index(options.get("axis", (*args, 0)[1]), len(shape) + 1)
    shape.insert(axis, len(args[0]))
    return tuple(shape), promoted(target, name, args, {"axis": axis})


def _unstacked(
    _target: Backend, _name: str, args: tuple[Any, ...], options: dict[str, Any]
) -> list[Kind]:
    """The parts along an axis."""
    shape = list(args[0].shape)
    axis = options.get("axis", (*args, 0)[1])
    count = shape.pop(normalize_axis_index(axis, len(shape)))
    return [(tuple(shape), args[0].dtype)] * count


def _padded(
    _target: Backend, _name: str, args: tuple[Any, ...], options: dict[str, Any]
) -> Kind:
    """Longer by what is added before and after."""
    x, *rest = args
    widths: Any = rest[0] if rest else options["widths"]
    sizes = zip(x.shape, widths, strict=True)
    return tuple(size + before + after for size, (before, after) in sizes), x.dtype


def _turned(
    _target: Backend, _name: str, args: tuple[Any, ...], options: dict[str, Any]
) -> Kind:
    """As the first argument, which has the axes that are turned."""
    if (axis := options.get("axis")) is not None:
        normalize_axis_tuple(axis, len(args[0].shape), allow_duplicate=True)
    return args[0].shape, args[0].dtype


def indexed(
    _target: Backend, _name: str, args: tuple[Any, ...], _options: dict[str, Any]
) -> Kind:
    """What NumPy's indexing leaves."""
    return bare(args[0].shape)[_bare_key(args[1])].shape, args[0].dtype


def _bare_key(key: Any) -> Any:
    """An index with zeros for each array in it."""
    if isinstance(key, Value):
        return bare(key.shape, np.intp)
    if isinstance(key, tuple):
        return tuple(_bare_key(each) for each in cast("tuple[Any, ...]", key))
    return key


RULES: dict[str, Rule] = {
    **{name: _by_numpy(name) for name in _BY_NUMPY.split()},
    **dict.fromkeys(("flip", "roll"), _turned),
    "concat": _joined,
    "stack": _stacked,
    "unstack": _unstacked,
    "pad": _padded,
    "index": indexed,
}
