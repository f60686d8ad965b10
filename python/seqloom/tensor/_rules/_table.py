"""The rules of all operations, by name."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from seqloom.tensor._rules import (
    _arithmetic,
    _attention,
    _einsum,
    _elementwise,
    _indexing,
    _losses,
    _norms,
    _products,
    _reductions,
    _shapes,
    _windows,
)

if TYPE_CHECKING:
    from seqloom.tensor._rules._rule import Rule

_THEMES = (
    _arithmetic,
    _attention,
    _einsum,
    _elementwise,
    _indexing,
    _losses,
    _norms,
    _products,
    _reductions,
    _shapes,
    _windows,
)
RULES: dict[str, Rule] = {
    name: replace(rule, name=name)
    for theme in _THEMES
    for name, rule in theme.RULES.items()
}
