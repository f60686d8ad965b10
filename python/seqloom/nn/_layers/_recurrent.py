"""GRU and LSTM: layers that carry a state along the sequence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.nn import functional
from seqloom.nn._layers._recurrent_base import Recurrent

if TYPE_CHECKING:
    from seqloom._key import Key
    from seqloom.tensor import Tensor


class GRU(Recurrent):
    """Gated recurrent units (Cho et al. 2014), as ``torch.nn.GRU``.

    Sequences are batch first by default, ``(n, l, in)``, unlike in torch. The channels are
    the last axis, while those of convolutions are the second one: between the two, call
    ``permute_dims(x, (0, 2, 1))``. Parameters have torch's names and shapes, so a state
    dict of torch's loads.

    Args:
        input_size: Number of features of a position.
        hidden_size: Number of features of a state.
        num_layers: Number of layers; each reads the outputs of the one before.
        bias: Whether there are biases.
        batch_first: Whether the input is ``(n, l, in)``; False for ``(l, n, in)``.
        dropout: Probability of dropping an element between two layers in training.
        bidirectional: Whether each layer also runs from the last position to the first.

    Raises:
        ArgumentError: A size is not a positive integer, or `dropout` is not in [0, 1).

    Examples:
        >>> import seqloom as sl
        >>> layer = sl.nn.GRU(4, 8, bidirectional=True).bind("numpy", sl.Key(0))
        >>> x = layer.backend.tensor([[[0.0] * 4] * 5] * 2)
        >>> out, last = layer(x, lengths=[5, 3])
        >>> out.shape, last.shape
        ((2, 5, 16), (2, 2, 8))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = True,
        dropout: float = 0.0,
        bidirectional: bool = False,
    ) -> None:
        sizes = {
            "input_size": input_size,
            "hidden_size": hidden_size,
            "num_layers": num_layers,
        }
        self._set_fields(
            sizes, dropout, batch_first=batch_first, bidirectional=bidirectional
        )
        self._build(3, bias)

    def __call__(
        self,
        x: Tensor,
        hx: Tensor | None = None,
        *,
        mask: Any = None,
        lengths: Any = None,
        cu_seqlens: Any = None,
        max_seqlen: int | None = None,
        key: Key | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Runs all layers over each sequence.

        Args:
            x: ``(n, l, in)``, or ``(l, in)`` for one sequence; ``(total, in)`` with
                `cu_seqlens`.
            hx: First states ``(layers * directions, n, hidden)``; default: zeros.
            mask: ``(n, l)``, true or 1 at real positions. Padding leaves the state as it
                is: the result is that of torch's packed sequences.
            lengths: Number of real positions of each sequence ``(n,)``, in place of `mask`.
            cu_seqlens: Start of each of several sequences that lie end to end, and the
                total, ``(n + 1,)``, as a `VarlenCollator` makes them.
            max_seqlen: Length of the longest of these; needed in a compiled step.
            key: Random key for dropout in training.

        Returns:
            The outputs of the last layer ``(n, l, directions * hidden)``, 0 at padding, in
            the form of `x`; and the last states ``(layers * directions, n, hidden)``.

        Raises:
            ArgumentError: `key` is missing for dropout in training, or there are two of
                `mask`, `lengths` and `cu_seqlens`.
            ShapeError: The shapes do not fit.
        """
        given = {
            "mask": mask,
            "lengths": lengths,
            "cu_seqlens": cu_seqlens,
            "max_seqlen": max_seqlen,
        }
        out, (last,) = self._run_any_form(x, None if hx is None else [hx], given, key)
        return out, last

    def _run_direction(
        self, x: Tensor, first: list[Tensor], suffix: str, mask: Any
    ) -> tuple[Tensor, list[Tensor]]:
        """Runs one layer in one direction."""
        reverse = suffix.endswith("_reverse")
        out, last = functional.gru(
            x, *first, *self._weights(suffix), mask=mask, reverse=reverse
        )
        return out, [last]


class LSTM(Recurrent):
    """Long short-term memory (Hochreiter and Schmidhuber 1997), as ``torch.nn.LSTM``.

    Sequences are batch first by default, as in `GRU`.

    Args:
        input_size: Number of features of a position.
        hidden_size: Number of features of a state and of a cell.
        num_layers: Number of layers; each reads the outputs of the one before.
        bias: Whether there are biases.
        batch_first: Whether the input is ``(n, l, in)``; False for ``(l, n, in)``.
        dropout: Probability of dropping an element between two layers in training.
        bidirectional: Whether each layer also runs from the last position to the first.

    Raises:
        ArgumentError: A size is not a positive integer, or `dropout` is not in [0, 1).

    Examples:
        >>> import seqloom as sl
        >>> layer = sl.nn.LSTM(4, 8, num_layers=2).bind("numpy", sl.Key(0))
        >>> out, (last, cell) = layer(layer.backend.tensor([[[0.0] * 4] * 5] * 2))
        >>> out.shape, last.shape, cell.shape
        ((2, 5, 8), (2, 2, 8), (2, 2, 8))
    """

    _states = 2

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = True,
        dropout: float = 0.0,
        bidirectional: bool = False,
    ) -> None:
        sizes = {
            "input_size": input_size,
            "hidden_size": hidden_size,
            "num_layers": num_layers,
        }
        self._set_fields(
            sizes, dropout, batch_first=batch_first, bidirectional=bidirectional
        )
        self._build(4, bias)

    def __call__(
        self,
        x: Tensor,
        hx: tuple[Tensor, Tensor] | None = None,
        *,
        mask: Any = None,
        lengths: Any = None,
        cu_seqlens: Any = None,
        max_seqlen: int | None = None,
        key: Key | None = None,
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Runs all layers over each sequence.

        Args:
            x: As for `GRU`.
            hx: First states and first cells, each ``(layers * directions, n, hidden)``;
                default: zeros.
            mask: As for `GRU`.
            lengths: As for `GRU`.
            cu_seqlens: As for `GRU`.
            max_seqlen: As for `GRU`.
            key: Random key for dropout in training.

        Returns:
            The outputs of the last layer ``(n, l, directions * hidden)``, 0 at padding, in
            the form of `x`; and a pair of the last states and the last cells, each
            ``(layers * directions, n, hidden)``.

        Raises:
            ArgumentError: `key` is missing for dropout in training, or there are two of
                `mask`, `lengths` and `cu_seqlens`.
            ShapeError: The shapes do not fit.
        """
        given = {
            "mask": mask,
            "lengths": lengths,
            "cu_seqlens": cu_seqlens,
            "max_seqlen": max_seqlen,
        }
        out, (last, cell) = self._run_any_form(
            x, None if hx is None else list(hx), given, key
        )
        return out, (last, cell)

    def _run_direction(
        self, x: Tensor, first: list[Tensor], suffix: str, mask: Any
    ) -> tuple[Tensor, list[Tensor]]:
        """Runs one layer in one direction."""
        reverse = suffix.endswith("_reverse")
        pair = first[0], first[1]
        out, last = functional.lstm(
            x, pair, *self._weights(suffix), mask=mask, reverse=reverse
        )
        return out, list(last)
