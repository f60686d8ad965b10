"""What users of bed_reader import from its module of this name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._threads import count_threads
from seqloom.errors import FormatError
from seqloom.io import open_bed

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["get_num_threads", "open_bed"]


def get_num_threads(num_threads: int | None = None) -> int:
    """Returns the number of threads that a call would use.

    Args:
        num_threads: The number of threads; None: by the environment.

    Returns:
        ``num_threads``; for None what SEQLOOM_NUM_THREADS, PST_NUM_THREADS, NUM_THREADS,
        MKL_NUM_THREADS, OMP_NUM_THREADS or SLURM_CPUS_PER_TASK says, or the number of
        cores.

    Raises:
        ArgumentError: The value of a variable is not a number.

    Examples:
        >>> get_num_threads(3)
        3
    """
    return count_threads() if num_threads is None else num_threads


def _convert_to_dtype(  # pyright: ignore[reportUnusedFunction] - bed_reader's tests call it
    texts: NDArray[np.str_], dtype: type[Any]
) -> NDArray[Any]:
    """Converts strings to numbers; ``"1.0"`` is an integer, ``"1.5"`` is not."""
    if dtype is np.str_:
        return texts
    numbers = texts.astype(np.float64)
    converted = numbers.astype(dtype)
    if dtype is np.int32 and (converted != numbers).any():
        wrong = texts[converted != numbers][0]
        raise FormatError(f"expected integers, found {str(wrong)!r}")
    return converted
