"""JSON in which one value becomes another: what it says is hostile, and it stays JSON."""

from __future__ import annotations

import json
import random
from typing import Any

import atheris

# Numbers near borders, other types, and names that mean something elsewhere.
_HOSTILE: list[Any] = [
    *(None, True, False, -1, 0, 1, 2, 1.5, -0.0, 10**9, 2**31, 2**63, 10**400, 1e308),
    *(float("nan"), float("inf"), "", "a", "\x1b[31m", "\ud800", "dna", "numpy", "../x"),
    *([], [[]], ["a", "a"], [1, "a", None], {}, {"class": "OneHot", "version": 1}),
]
# One change in so many is one of bytes.
_BYTES = 4


def mutate(data: bytes, most: int, seed: int) -> bytes:
    """Change a value of the first line, or bytes anywhere."""
    chance = random.Random(seed)  # noqa: S311 - the same choice each time
    head, mark, rest = data.partition(b"\n")
    try:
        tree = json.loads(head if mark and not head.endswith(b"{") else data)
    except (ValueError, RecursionError):
        tree = None
    if not isinstance(tree, dict) or not chance.randrange(_BYTES):
        return atheris.Mutate(data, most)
    _change(tree, chance)
    text = json.dumps(tree).encode()
    return (text + mark + rest if mark and not head.endswith(b"{") else text)[:most]


def _change(tree: dict[str, Any], chance: random.Random) -> None:
    """Write another value over one, adds one or leave one out."""
    places = [*_places(tree)]
    if not places:
        tree["a"] = chance.choice(_HOSTILE)
        return
    holder, key = chance.choice(places)
    other, other_key = chance.choice(places)
    match chance.randrange(6):
        case 0:
            del holder[key]
        case 1:
            holder[key] = json.loads(json.dumps(other[other_key]))
        case 2 if isinstance(holder, dict):
            holder[str(chance.choice(_HOSTILE))] = holder.pop(key)
        case _:
            holder[key] = chance.choice(_HOSTILE)


def _places(tree: Any) -> Any:
    """List every dict or list with each of its keys, however deep."""
    keys: Any = tree if isinstance(tree, dict) else range(len(tree))
    for key in list(keys):
        yield tree, key
        if isinstance(tree[key], (dict, list)):
            yield from _places(tree[key])
