"""How sure a share is."""

import math

# The 97.5th percentile of the normal distribution: two-sided 95 %.
_Z = 1.959963984540054


def wilson_interval(hits: int, total: int) -> tuple[float, float]:
    """Computes the 95 % Wilson score interval of a share.

    Args:
        hits: How many were right.
        total: How many there were.

    Returns:
        The lower and the upper bound; ``(0.0, 1.0)`` where there were none.

    Examples:
        >>> low, high = wilson_interval(1137, 1186)
        >>> round(low, 4), round(high, 4)
        (0.9458, 0.9686)
    """
    if total == 0:
        return 0.0, 1.0
    share, square = hits / total, _Z * _Z
    centre = (share + square / (2 * total)) / (1 + square / total)
    spread = math.sqrt(share * (1 - share) / total + square / (4 * total * total))
    half = _Z * spread / (1 + square / total)
    return max(0.0, centre - half), min(1.0, centre + half)
