"""What a step returns: a nesting of tensors, and the objects that it was given."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from seqloom._key import Key
from seqloom.errors import CaptureError
from seqloom.tensor._compile._constants import constant, kind_of
from seqloom.tensor._compile._key import SymbolKey
from seqloom.tensor._compile._symbol import Symbol
from seqloom.tensor._gradients import Gradients
from seqloom.tensor._leaves import HasLeaves
from seqloom.tensor._tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from seqloom.tensor._backend import Array, Backend
    from seqloom.tensor._compile._signature import Signature

# Builds a result from the arrays of one call and what that call was given.
Build = Callable[["Iterator[Array]", "Signature", "Backend"], Any]


class Results:
    """How the results of a step are put together from the program's outputs.

    Args:
        holders: The stateful objects that the step was given.
    """

    def __init__(self, holders: list[Any]) -> None:
        self._holders = holders
        self.raws: list[Any] = []

    def plan(self, value: Any) -> Build:
        """Notes the arrays of a result; says how to make the like of it from others."""
        makers: list[tuple[Any, Callable[[Any], Build]]] = [
            (Tensor, self._tensor),
            (SymbolKey, self._key),
            (Gradients, self._gradients),
            (HasLeaves, self._holder),
            ((dict, list, tuple), self._nested),
        ]
        for kind, make in makers:
            if isinstance(value, kind):
                return make(value)
        give = constant(value)
        return lambda _arrays, _given, _backend: give()

    def _tensor(self, value: Tensor) -> Build:
        """A tensor; a Python number of the call stays one."""
        raw = _followed_by_none(value.raw)
        self.raws.append(raw)
        if isinstance(raw, Symbol) and raw.value.weak:
            return lambda arrays, _given, _backend: float(next(arrays))
        # A result is a tensor that the scope of the call does not release.
        return lambda arrays, _given, backend: Tensor(next(arrays), backend).keep()

    def _key(self, value: SymbolKey) -> Build:
        """A key."""
        self.raws.append(value.symbol)
        return _key

    def _holder(self, value: HasLeaves) -> Build:
        """A module or optimiser: the one that the call was given in the same place."""
        place = self._place(value)
        return lambda _arrays, given, _backend: given.holders[place]

    def _nested(self, value: Any) -> Build:
        """A container of results."""
        if isinstance(value, dict):
            named = {
                key: self.plan(each) for key, each in cast("dict[Any, Any]", value).items()
            }
            make_dict = kind_of(cast("Any", value))
            return lambda arrays, given, backend: make_dict(
                {key: part(arrays, given, backend) for key, part in named.items()}
            )
        parts = [self.plan(each) for each in value]
        kind = cast("Any", type(value))
        make: Callable[[list[Any]], Any] = getattr(kind, "_make", kind)
        return lambda arrays, given, backend: make(
            [part(arrays, given, backend) for part in parts]
        )

    def _gradients(self, value: Gradients) -> Build:
        """Gradients by the parameters of the call, which may be another instance's."""
        self.raws += [value.get(number) for number in value]
        known = self._places_of_leaves()
        # A parameter that the step was not given keeps its id.
        places = [(known.get(number, number), number in known) for number in value]

        def build(arrays: Iterator[Array], given: Signature, backend: Backend) -> Gradients:
            leaves: list[Any] = given.leaves
            numbers = [leaves[place].id if found else place for place, found in places]
            return Gradients({number: next(arrays) for number in numbers}, backend)

        return build

    def _places_of_leaves(self) -> dict[int, int]:
        """Says of the id of each leaf which of them it is."""
        leaves = [leaf for holder in self._holders for leaf in holder.leaves()[1]]
        unique = {id(leaf): leaf for leaf in leaves}.values()
        return {leaf.id: place for place, leaf in enumerate(unique) if hasattr(leaf, "id")}

    def _place(self, value: Any) -> int:
        """Which of the given objects it is."""
        for place, holder in enumerate(self._holders):
            if holder is value:
                return place
        raise CaptureError(
            f"a compiled step returned a {type(value).__name__} that it was not given; it "
            "returns tensors, and the modules and optimisers among its arguments"
        )


def _followed_by_none(raw: Any) -> Any:
    """A result's array without the level that followed it."""
    while hasattr(raw, "node"):
        raw = raw.value
    return raw


def _key(arrays: Iterator[Array], _given: Signature, backend: Backend) -> Key:
    """A key of the words."""
    return Key.from_json([int(word) for word in backend.to_numpy(next(arrays))])
