"""The rules of all operations, by name: those that the table of operations finds."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING

from seqloom.tensor._operations import OPERATIONS

if TYPE_CHECKING:
    from seqloom.tensor._rules._rule import Rule

RULES: dict[str, Rule] = {
    name: replace(
        import_module(f"seqloom.tensor._rules.{files.rule}").RULES[name], name=name
    )
    for name, files in OPERATIONS.items()
    if files.rule
}
