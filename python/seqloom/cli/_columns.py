"""Values by position, as columns of blocks in a terminal."""

from collections.abc import Sequence

_BLOCKS = " ▁▂▃▄▅▆▇█"
_PLAIN = " .:-=+*#%@"
MOST_COLUMNS = 75


def draw_columns(
    values: Sequence[float], top: float, *, rows: int = 1, is_plain: bool = False
) -> list[str]:
    """Draws a column for each value, from 0 to ``top``, as lines from top to bottom."""
    steps = _PLAIN if is_plain else _BLOCKS
    full = len(steps) - 1
    heights = [_height(value, top, rows * full) for value in values]
    return [
        "".join(steps[min(max(height - row * full, 0), full)] for height in heights)
        for row in reversed(range(rows))
    ]


def squeeze(values: Sequence[float], most: int = MOST_COLUMNS) -> list[float]:
    """Averages neighbours until there are few enough columns."""
    step = -(-len(values) // most)
    parts = [values[start : start + step] for start in range(0, len(values), step)]
    return [sum(part) / len(part) for part in parts]


def _height(value: float, top: float, steps: int) -> int:
    """Gives a column's height; what is not 0 is seen."""
    height = round(steps * value / top) if top > 0 else 0
    return max(height, 1) if value > 0 else 0
