"""`Quality`, which encodes FASTQ qualities as scores or error probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from seqloom._rust import _native
from seqloom.encode._base import SequenceEncoder
from seqloom.encode._letters import (
    INTEGER_LIMITS,
    EncodedDType,
    from_bits,
    to_bits,
    to_numpy,
)
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

# The character code of score 0 and the lowest score, for each quality encoding.
_SCALES = {"phred33": (33, 0), "phred64": (64, 0), "solexa": (64, -5)}
_MAX_BYTE = 126


@dataclass(frozen=True)
class Quality(SequenceEncoder):
    """Encodes the quality characters of FASTQ as numbers.

    Args:
        encoding: The quality encoding of the file: ``"phred33"``, ``"phred64"`` or
            ``"solexa"`` (Solexa scores start at -5).
        values: The type of the numbers: ``"score"`` or ``"error_probability"``.
        dtype: ``"float32"``, ``"float64"``, ``"float16"``, ``"bfloat16"`` (PyTorch),
            and for scores ``"int64"``, ``"int32"``, ``"uint8"``.

    Raises:
        ArgumentError: A setting is invalid, or two settings contradict each other.

    Examples:
        >>> Quality()("!+5I").tolist()
        [0.0, 10.0, 20.0, 40.0]
        >>> Quality(values="error_probability", dtype="float64")("+5").round(4).tolist()
        [0.1, 0.01]
    """

    supports_threads = True

    encoding: Literal["phred33", "phred64", "solexa"] = "phred33"
    values: Literal["score", "error_probability"] = "score"
    dtype: EncodedDType = "float32"

    @property
    def channels(self) -> None:
        """None, because encoded qualities have no axis of channels."""
        return

    def _check_settings(self) -> None:
        is_share = self.values == "error_probability"
        if self.dtype in INTEGER_LIMITS and is_share:
            raise ArgumentError(
                f"values='error_probability' needs a float dtype, got {self.dtype!r}"
            )
        if self.dtype == "uint8" and self.encoding == "solexa":
            raise ArgumentError(
                "encoding='solexa' has scores from -5 on, which dtype='uint8' cannot hold: "
                "pass 'int32'"
            )

    def decode(self, array: Any, *, lengths: Iterable[int] | None = None) -> list[bytes]:
        """Convert numbers back to quality characters.

        Args:
            array: The result of ``batch``, or the array of one sequence.
            lengths: The number of positions of each sequence without padding; None decodes
                all positions.

        Returns:
            The quality characters of each sequence; each number becomes the nearest
            score.

        Examples:
            >>> Quality().decode(Quality().batch(["!!II"]))
            [b'!!II']
        """
        rows = np.atleast_2d(to_numpy(array)).astype(np.float64)
        zero, lowest = _SCALES[self.encoding]
        scores = rows
        if self.values == "error_probability":
            odds = np.maximum(rows, 1e-30)
            if self.encoding == "solexa":
                odds = odds / np.maximum(1 - odds, 1e-30)
            scores = -10 * np.log10(odds)
        scores = np.clip(np.rint(scores), lowest, _MAX_BYTE - zero)
        spelled = (scores + zero).astype(np.uint8)
        ends = [rows.shape[1]] * len(rows) if lengths is None else lengths
        return [row[:end].tobytes() for row, end in zip(spelled, ends, strict=True)]

    def _make_quality_values(self) -> NDArray[np.float64]:
        zero, lowest = _SCALES[self.encoding]
        scores = (np.arange(256.0) - zero).clip(lowest, _MAX_BYTE - zero)
        if self.values == "score":
            return scores
        odds = 10 ** (-scores / 10)
        return odds / (1 + odds) if self.encoding == "solexa" else odds

    @cached_property
    def _letters(self) -> _native.Letters:
        return _native.Letters.range(**self._score_range)

    @property
    def _score_range(self) -> dict[str, Any]:
        zero, lowest = _SCALES[self.encoding]
        first = zero + lowest
        expected = f"a quality of {self.encoding}, {chr(first)!r} to {chr(_MAX_BYTE)!r}"
        return {"first": first, "last": _MAX_BYTE, "expected": expected}

    @property
    def kernel_settings(self) -> dict[str, Any]:
        """Settings of the Rust kernel as JSON values: encoder kind, alphabet and tables."""
        values = from_bits(to_bits(self._make_quality_values(), self.dtype), self.dtype)
        return {
            "kind": "quality",
            "letters": self._score_range,
            "values": values,
            "specials": [0, 0],
        }
