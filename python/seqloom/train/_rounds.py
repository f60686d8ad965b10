"""How many epochs: as many as were asked for, or rounds of them while they help."""

from typing import Any

# The first round, and how many there are at most; each is twice as long as the one before.
FIRST = 20
_ROUNDS = 3
# The best epoch of a first round that is worth another lies behind this share of it.
_LATE = 0.75
# A later round has helped if the validation loss is so much lower.
_HELPED = 0.99


def ends_of_rounds(epochs: int | None, history: list[dict[str, Any]]) -> list[int]:
    """Says after which epochs the learning rate has fallen to nothing."""
    if epochs is not None:
        return [epochs]
    ends = [FIRST]
    while len(history) >= ends[-1] and len(ends) < _ROUNDS and _is_improving(history, ends):
        ends.append(ends[-1] + FIRST * 2 ** len(ends))
    return ends


def most_epochs(epochs: int | None, *, has_valid: bool) -> int:
    """Says how many epochs a run has at most."""
    if epochs is not None:
        return epochs
    return FIRST * (2**_ROUNDS - 1) if has_valid else FIRST


def _is_improving(history: list[dict[str, Any]], ends: list[int]) -> bool:
    """Says whether the validation loss fell in the last round, and may fall further."""
    if "valid_loss" not in history[0]:
        return False
    losses = [float(row["valid_loss"]) for row in history[: ends[-1]]]
    start = ends[-2] if len(ends) > 1 else 0
    before, here = losses[:start], losses[start:]
    if before:
        return min(here) < _HELPED * min(before)
    return losses.index(min(here)) + 1 > _LATE * ends[-1]
