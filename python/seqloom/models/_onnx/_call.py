"""One call of an operator: what it is given, as the operator wants to see it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from seqloom._arguments import quote
from seqloom.errors import OperationError
from seqloom.models._onnx._values import as_tensor, is_known, lay_out
from seqloom.tensor import Tensor, backend

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from seqloom.models._onnx._graph import Node

# Known numbers are few: a shape, or a table of positions.
MOST_KNOWN = 1 << 26


@dataclass(frozen=True, eq=False, slots=True)
class Call:
    """A node with the values of its inputs; None for one that is left out."""

    node: Node
    values: list[Any]
    opset: int

    def __len__(self) -> int:
        return len(self.values)

    @property
    def is_known(self) -> bool:
        """Whether all inputs are known numbers, so that the result is such too."""
        return all(it is None or is_known(it) for it in self.values)

    def has(self, place: int) -> bool:
        """Whether an input is given."""
        return place < len(self.values) and self.values[place] is not None

    def attribute(self, name: str, default: Any = None) -> Any:
        """Gives an attribute of the node."""
        return self.node.attributes.get(name, default)

    def word(self, name: str, default: str, choices: Sequence[str]) -> str:
        """Gives an attribute that is one of some words."""
        found = self.attribute(name, default)
        if found not in choices:
            self.refuse(f"has {name}={quote(found)}, which is not supported")
        return found

    def value(self, place: int) -> Any:
        """Gives an input as it is; refuses a node that lacks it."""
        if not self.has(place):
            raise OperationError(f"has no input {place}")
        return self.values[place]

    @property
    def first(self) -> Tensor:
        """A tensor on the backend that computes: the first one among the inputs."""
        for value in self.values:
            if value is not None and not is_known(value):
                return lay_out(value)
        return backend("numpy").tensor(np.asarray(self.value(0)))

    def tensor(self, place: int) -> Tensor:
        """Gives an input as a tensor."""
        value = self.value(place)
        return as_tensor(value, self.first) if is_known(value) else lay_out(value)

    def optional(self, place: int) -> Tensor | None:
        """Gives an input as a tensor, or None where it is left out."""
        return self.tensor(place) if self.has(place) else None

    def operand(self, place: int) -> Any:
        """Gives an input as a tensor, or as a number that takes the others' type."""
        value = self.value(place)
        if is_known(value) and not value.ndim and not self.is_known:
            return value.item()
        return self.tensor(place)

    def known(self, place: int, what: str) -> NDArray[Any]:
        """Gives an input whose numbers must be known before anything is computed."""
        value = self.value(place)
        if not is_known(value):
            self.refuse(
                f"takes its {what} from values that are computed; only what follows from "
                "the sizes of the inputs and from constants of the file can be used there"
            )
        return value

    def integers(self, place: int, what: str) -> list[int]:
        """Gives an input as integers that are known."""
        return [int(it) for it in self.known(place, what).ravel()]

    def listed(self, name: str, place: int, default: Any = None) -> Any:
        """Gives integers that older files have as an attribute, newer ones as an input."""
        if self.has(place):
            return self.integers(place, name)
        return self.attribute(name, default)

    def shape(self, place: int) -> tuple[int, ...]:
        """Gives the sizes of an input, which need not be laid out for it."""
        return tuple(map(int, self.value(place).shape))

    def axis(self, axis: int, rank: int) -> int:
        """Counts an axis from the front."""
        if not -rank <= axis < max(rank, 1):
            self.refuse(f"has axis={axis}, but its input has {rank} axes")
        return axis % max(rank, 1)

    def refuse(self, reason: str) -> NoReturn:
        """Raises an error; the node's name is put before the reason."""
        raise OperationError(reason)
