"""Operators of two followed tensors: computed, recorded and held in one function.

What a level's function, a node, the array of a level and a tensor's constructor do one
after the other is written out here, since calls cost more than what is done in them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import ref

from seqloom.tensor._autodiff._node import Node, numbers
from seqloom.tensor._held import new
from seqloom.tensor._memory._origin import caller, users
from seqloom.tensor._memory._scope import innermost
from seqloom.tensor._native_error import translated
from seqloom.tensor._rules import RULES
from seqloom.tensor._rules._keep import likes_of_two
from seqloom.tensor._watch import watchers

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, FrameType

_scope = innermost.get
_BOTH = True, True


def followed(
    name: str, otherwise: Callable[[Any, Any, FrameType], Any]
) -> Callable[[Any, Any], Any]:
    """The operator of two tensors, by the shortest way where a level follows both.

    Args:
        name: The function of two arrays, which has a rule.
        otherwise: The operator of all other tensors; it is given the caller's frame too.

    Returns:
        A method of a tensor.
    """
    rule = RULES[name]
    save = None if rule.save is likes_of_two else rule.save
    latest: CodeType | None = None  # a loop comes from the same code, again and again

    def operate(self: Any, other: Any) -> Any:
        nonlocal latest
        kind: Any = type(self)  # pyright: ignore[reportUnknownVariableType]
        table = self._table
        if (
            table is None
            or type(other) is not kind
            or other._table is not table
            or watchers
        ):
            return otherwise(self, other, caller(1))
        left, right = self._value, other._value
        try:
            out = table[name](left, right)
        except Exception as error:
            raise translated(error, name, (self, other), self.backend) from error
        node, made = Node(), new(kind)
        node.number, node.rule = next(numbers), rule
        node.parents = self._node, other._node
        if save is None:
            node.saved = self._like or self._look(), other._like or other._look()
        else:
            node.saved = save((left, right), out, _BOTH, {})
        made._node, made._value, made._table = node, out, table
        made._raw = made._like = None
        made.backend = self.backend
        frame = caller(1)
        code = frame.f_code
        if code is not latest:
            frame = users(frame)
            latest = code = frame.f_code
        made._code = code
        made._place = frame.f_lasti
        scope = _scope()
        if scope is not None:
            entries = scope.made
            entries.append(ref(made))
            if len(entries) > scope.limit:
                scope.thin()
        return made

    return operate
