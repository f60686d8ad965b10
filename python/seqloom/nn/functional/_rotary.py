"""Rotary position embedding."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from seqloom.errors import ShapeError
from seqloom.nn.functional._dtypes import require_floats
from seqloom.nn.functional._operands import as_operand, make_range
from seqloom.tensor import apply

if TYPE_CHECKING:
    from seqloom.tensor import Tensor


def rotary_embedding(x: Tensor, positions: object = None, base: float = 10000.0) -> Tensor:
    """Rotates pairs of features by angles that grow with the position (Su et al. 2021).

    Feature i of the first half and feature i of the second half are a pair, as in the
    checkpoints of Llama and ESM-2. The angle of pair i is
    ``position * base ** (-2 i / d)``.

    Args:
        x: Queries or keys ``(..., l, d)``, of an even width d.
        positions: The position of each of the l rows, ``(l,)``, or an array that broadcasts
            to ``(..., l)``; default: 0 to l - 1.
        base: Base of the wavelengths.

    Returns:
        A tensor of the same shape.

    Raises:
        DTypeError: `x` has an integer or boolean type.
        ShapeError: The width is odd.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[1.0, 0.0], [1.0, 0.0]])
        >>> turned = rotary_embedding(x).numpy().tolist()
        >>> [[round(number, 4) for number in row] for row in turned]
        [[1.0, 0.0], [0.5403, 0.8415]]
    """
    require_floats("rotary_embedding", x)
    width = x.shape[-1]
    if x.ndim < 2 or width % 2:  # noqa: PLR2004 - (l, d)
        raise ShapeError(
            f"rotary_embedding: expected x (..., l, d) with an even width d, got {x.shape}"
        )
    half = width // 2
    positions = make_range(x, x.shape[-2]) if positions is None else positions
    # Angles are in float32 at least: half precision has too few positions.
    kind = x.dtype if x.dtype.itemsize > 2 else "float32"  # noqa: PLR2004
    rates = as_operand(x, base ** (-np.arange(half) / half), kind)
    angles = apply("expand_dims", as_operand(x, positions, kind), axis=-1) * rates
    cos, sin = (apply(name, angles).astype(x.dtype) for name in ("cos", "sin"))
    one, other = x[..., :half], x[..., half:]
    return apply("concat", [one * cos - other * sin, other * cos + one * sin], axis=-1)
