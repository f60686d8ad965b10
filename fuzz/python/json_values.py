"""Change one value of a JSON document; the document stays valid JSON."""

from __future__ import annotations

import json
import random
from typing import Any

import atheris

# Numbers near limits, values of other types, and strings that other fields accept.
_UNUSUAL_VALUES: list[Any] = [
    *(None, True, False, -1, 0, 1, 2, 1.5, -0.0, 10**9, 2**31, 2**63, 10**400, 1e308),
    *(float("nan"), float("inf"), "", "a", "\x1b[31m", "\ud800", "dna", "numpy", "../x"),
    *([], [[]], ["a", "a"], [1, "a", None], {}, {"class": "OneHot", "version": 1}),
]
# One in this number of changes, on average, alters bytes instead of a JSON value.
_BYTE_CHANGE_INTERVAL = 4


def mutate(data: bytes, max_size: int, seed: int) -> bytes:
    """Change a value of the first line, or bytes at any offset."""
    random_state = random.Random(seed)  # noqa: S311 - reproducible
    head, mark, rest = data.partition(b"\n")
    try:
        tree = json.loads(head if mark and not head.endswith(b"{") else data)
    except (ValueError, RecursionError):
        tree = None
    if not isinstance(tree, dict) or not random_state.randrange(_BYTE_CHANGE_INTERVAL):
        return atheris.Mutate(data, max_size)
    _change(tree, random_state)
    text = json.dumps(tree).encode()
    return (text + mark + rest if mark and not head.endswith(b"{") else text)[:max_size]


def _change(tree: dict[str, Any], random_state: random.Random) -> None:
    """Replace, add or remove a value."""
    positions = [*_positions(tree)]
    if not positions:
        tree["a"] = random_state.choice(_UNUSUAL_VALUES)
        return
    holder, key = random_state.choice(positions)
    other, other_key = random_state.choice(positions)
    match random_state.randrange(6):
        case 0:
            del holder[key]
        case 1:
            holder[key] = json.loads(json.dumps(other[other_key]))
        case 2 if isinstance(holder, dict):
            holder[str(random_state.choice(_UNUSUAL_VALUES))] = holder.pop(key)
        case _:
            holder[key] = random_state.choice(_UNUSUAL_VALUES)


def _positions(tree: Any) -> Any:
    """Yield pairs of a dict or list, at any depth, and each of its keys or indices."""
    keys: Any = tree if isinstance(tree, dict) else range(len(tree))
    for key in list(keys):
        yield tree, key
        if isinstance(tree[key], (dict, list)):
            yield from _positions(tree[key])
