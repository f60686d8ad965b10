"""GRU and LSTM: recurrent layers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seqloom.errors import ShapeError
from seqloom.nn._operands import require_same_dtype
from seqloom.nn._recurrent_base import Recurrent, to_boolean_mask
from seqloom.tensor import Tensor, apply

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from seqloom._key import Key

_OPERAND_NAMES = "w_ih", "x", "hx", "w_hh", "b_ih", "b_hh"
_INPUT_AXES = 3  # (n, l, in)


def gru(
    x: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
    *,
    mask: object = None,
    reverse: bool = False,
) -> tuple[Tensor, Tensor]:
    """Run one layer of gated recurrent units in one direction (Cho et al. 2014).

    As in PyTorch, the gates are ordered reset, update, new, and the reset gate multiplies
    the state's contribution to the new value, including its bias.

    Args:
        x: Input ``(n, l, in)``; the second axis is the position.
        hx: Initial state of each sequence, ``(n, width)``.
        w_ih: Input weights, ``(3 * width, in)``.
        w_hh: State weights, ``(3 * width, width)``.
        b_ih: Bias of the input term, ``(3 * width,)``.
        b_hh: Bias of the state term, ``(3 * width,)``.
        mask: Mask ``(n, l)``, true or 1 at real positions; default: all real. Padding
            does not change the state, and the output at padding is 0.
        reverse: If True, run from the last position to the first.

    Returns:
        The output at each position ``(n, l, width)``, and the last state ``(n, width)``.

    Raises:
        DTypeError: The arguments do not have the same float type.
        ShapeError: The shapes of the arguments do not match, or `x` has no positions.

    Examples:
        >>> import seqloom as sl
        >>> B = sl.tensor.backend("numpy")
        >>> out, last = gru(
        ...     B.tensor([[[1.0], [2.0]]]),
        ...     B.tensor([[0.0]]),
        ...     B.tensor([[1.0], [1.0], [1.0]]),
        ...     B.tensor([[0.0], [0.0], [0.0]]),
        ... )
        >>> out.shape, last.shape
        ((1, 2, 1), (1, 1))
    """
    require_same_dtype("gru", _OPERAND_NAMES, w_ih, x, hx, w_hh, b_ih, b_hh)
    _require_shapes("gru", 3, (x, hx, w_ih, w_hh))
    x, real = _zero_padded_inputs(x, mask)
    args = (x, hx, w_ih, w_hh, b_ih, b_hh, real)
    states, last, _ = apply("gru", *args, reverse=reverse)
    return _zero_padded_outputs(states, real), last


class GRU(Recurrent, init=False):
    """Gated recurrent units (Cho et al. 2014), like ``torch.nn.GRU``.

    Unlike in PyTorch, sequences are batch first by default, ``(n, l, in)``. The
    features are the last axis, but in convolutions the second axis: ``permute_dims(x,
    (0, 2, 1))`` converts between the two orders. Parameters have the names and shapes
    of PyTorch, so a PyTorch state dict can be loaded.

    Args:
        input_size: Number of features of a position.
        hidden_size: Number of features of a state.
        num_layers: Number of layers; each layer reads the outputs of the previous
            layer.
        bias: If True, add biases.
        batch_first: If True, the input is ``(n, l, in)``; if False, ``(l, n, in)``.
        dropout: Probability of dropping an element between two layers in training.
        bidirectional: If True, each layer also runs from the last position to the first.

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

    def __call__(
        self,
        x: Tensor,
        hx: Tensor | None = None,
        *,
        mask: Tensor | ArrayLike | None = None,
        lengths: Tensor | ArrayLike | None = None,
        cu_seqlens: Tensor | ArrayLike | None = None,
        max_seqlen: int | None = None,
        key: Key | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Apply all layers to each sequence.

        Args:
            x: Input ``(n, l, in)``; ``(l, in)`` for one sequence; ``(total, in)`` with
                `cu_seqlens`.
            hx: Initial states ``(layers * directions, n, hidden)``; default: zeros.
            mask: Mask ``(n, l)``, true or 1 at real positions. Padding does not change
                the state, so the result equals that of PyTorch's packed sequences.
            lengths: Number of real positions of each sequence ``(n,)``; can be passed
                instead of `mask`.
            cu_seqlens: Offsets of concatenated sequences ``(n + 1,)``, as from a
                `VarlenCollator`: the start of each sequence, and the total length.
            max_seqlen: Length of the longest concatenated sequence; required in a
                compiled step.
            key: Random key for dropout in training.

        Returns:
            The outputs of the last layer ``(n, l, directions * hidden)``, 0 at padding
            and with the axis order of `x`; and the final states ``(layers * directions,
            n, hidden)``.

        Raises:
            ArgumentError: `key` is missing for dropout in training, or more than one of
                `mask`, `lengths` and `cu_seqlens` is passed.
            ShapeError: The shapes of the arguments do not match.
        """
        layout = {"mask": mask, "lengths": lengths, "cu_seqlens": cu_seqlens}
        first = None if hx is None else [hx]
        out, (last,) = self._run_any_axis_order(x, first, layout, max_seqlen, key)
        return out, last

    def _run_direction(
        self, x: Tensor, first: list[Tensor], suffix: str, mask: Tensor | ArrayLike | None
    ) -> tuple[Tensor, list[Tensor]]:
        """Run one layer in one direction."""
        reverse = suffix.endswith("_reverse")
        out, last = gru(x, *first, *self._list_weights(suffix), mask=mask, reverse=reverse)
        return out, [last]


def lstm(
    x: Tensor,
    hx: tuple[Tensor, Tensor],
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
    *,
    mask: object = None,
    reverse: bool = False,
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """Run one layer of long short-term memory in one direction.

    See Hochreiter and Schmidhuber (1997), with the forget gate of Gers et al. (2000). As
    in PyTorch, the gates are ordered input, forget, cell, output.

    Args:
        x: Input ``(n, l, in)``; the second axis is the position.
        hx: Initial state and initial cell of each sequence, each ``(n, width)``.
        w_ih: Input weights, ``(4 * width, in)``.
        w_hh: State weights, ``(4 * width, width)``.
        b_ih: Bias of the input term, ``(4 * width,)``.
        b_hh: Bias of the state term, ``(4 * width,)``.
        mask: Mask ``(n, l)``, true or 1 at real positions; default: all real. Padding
            does not change the state, and the output at padding is 0.
        reverse: If True, run from the last position to the first.

    Returns:
        The output at each position ``(n, l, width)``, and a pair of the final state and
        the final cell, each ``(n, width)``.

    Raises:
        DTypeError: The arguments do not have the same float type.
        ShapeError: The shapes of the arguments do not match, or `x` has no positions.

    Examples:
        >>> import seqloom as sl
        >>> B = sl.tensor.backend("numpy")
        >>> first = B.tensor([[0.0]])
        >>> x, w = B.tensor([[[1.0], [2.0]]]), B.tensor([[1.0]] * 4)
        >>> out, (last, cell) = lstm(x, (first, first), w, w * 0.0)
        >>> out.shape, cell.shape
        ((1, 2, 1), (1, 1))
    """
    h0, c0 = hx
    require_same_dtype("lstm", _OPERAND_NAMES, w_ih, x, h0, w_hh, b_ih, b_hh)
    _require_shapes("lstm", 4, (x, h0, w_ih, w_hh))
    if c0.shape != h0.shape:
        raise ShapeError(
            f"lstm: the first cell must have the shape of the first state, {h0.shape}, got "
            f"{c0.shape}"
        )
    x, real = _zero_padded_inputs(x, mask)
    args = (x, h0, c0, w_ih, w_hh, b_ih, b_hh, real)
    states, last, cell, _ = apply("lstm", *args, reverse=reverse)
    return _zero_padded_outputs(states, real), (last, cell)


class LSTM(Recurrent, init=False):
    """Long short-term memory (Hochreiter and Schmidhuber 1997), like ``torch.nn.LSTM``.

    Sequences are batch first by default, as in `GRU`.

    Args:
        input_size: Number of features of a position.
        hidden_size: Number of features of a state and of a cell.
        num_layers: Number of layers; each layer reads the outputs of the previous
            layer.
        bias: If True, add biases.
        batch_first: If True, the input is ``(n, l, in)``; if False, ``(l, n, in)``.
        dropout: Probability of dropping an element between two layers in training.
        bidirectional: If True, each layer also runs from the last position to the first.

    Raises:
        ArgumentError: A size is not a positive integer, or `dropout` is not in [0, 1).

    Examples:
        >>> import seqloom as sl
        >>> layer = sl.nn.LSTM(4, 8, num_layers=2).bind("numpy", sl.Key(0))
        >>> out, (last, cell) = layer(layer.backend.tensor([[[0.0] * 4] * 5] * 2))
        >>> out.shape, last.shape, cell.shape
        ((2, 5, 8), (2, 2, 8), (2, 2, 8))
    """

    _gate_count = 4
    _state_count = 2

    def __call__(
        self,
        x: Tensor,
        hx: tuple[Tensor, Tensor] | None = None,
        *,
        mask: Tensor | ArrayLike | None = None,
        lengths: Tensor | ArrayLike | None = None,
        cu_seqlens: Tensor | ArrayLike | None = None,
        max_seqlen: int | None = None,
        key: Key | None = None,
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Apply all layers to each sequence.

        Args:
            x: See `GRU`.
            hx: Initial states and initial cells, each ``(layers * directions, n,
                hidden)``; default: zeros.
            mask: See `GRU`.
            lengths: See `GRU`.
            cu_seqlens: See `GRU`.
            max_seqlen: See `GRU`.
            key: Random key for dropout in training.

        Returns:
            The outputs of the last layer, as from `GRU`; and a pair of the final states
            and the final cells, each ``(layers * directions, n, hidden)``.

        Raises:
            ArgumentError: `key` is missing for dropout in training, or more than one of
                `mask`, `lengths` and `cu_seqlens` is passed.
            ShapeError: The shapes of the arguments do not match.
        """
        layout = {"mask": mask, "lengths": lengths, "cu_seqlens": cu_seqlens}
        first = None if hx is None else list(hx)
        out, (last, cell) = self._run_any_axis_order(x, first, layout, max_seqlen, key)
        return out, (last, cell)

    def _run_direction(
        self, x: Tensor, first: list[Tensor], suffix: str, mask: Tensor | ArrayLike | None
    ) -> tuple[Tensor, list[Tensor]]:
        """Run one layer in one direction."""
        reverse = suffix.endswith("_reverse")
        pair = first[0], first[1]
        out, last = lstm(x, pair, *self._list_weights(suffix), mask=mask, reverse=reverse)
        return out, list(last)


def _require_shapes(name: str, gates: int, arrays: tuple[Tensor, ...]) -> None:
    """Raise if the shapes of the arguments do not match."""
    x, h0, w_ih, w_hh = (array.shape for array in arrays)
    if len(x) != _INPUT_AXES or 0 in x:
        raise ShapeError(
            f"{name}: expected x (n, l, in) with at least one position, got shape {x}"
        )
    width = h0[-1] if h0 else 0
    expected = (x[0], width), (gates * width, x[2]), (gates * width, width)
    if not width or (h0, w_ih, w_hh) != expected:
        raise ShapeError(
            f"{name}: expected a first state (n, width), w_ih ({gates} * width, in) and "
            f"w_hh ({gates} * width, width) for x {x}, got {h0}, {w_ih} and {w_hh}"
        )


def _zero_padded_inputs(x: Tensor, mask: object) -> tuple[Tensor, Tensor | None]:
    """Set padding, which may contain NaN, to 0; also return the mask as booleans."""
    if mask is None:
        return x, None
    real = to_boolean_mask(x, mask)
    return apply("where", apply("expand_dims", real, axis=2), x, 0.0), real


def _zero_padded_outputs(states: Tensor, real: Tensor | None) -> Tensor:
    """Set the output at padding to 0."""
    if real is None:
        return states
    return apply("where", apply("expand_dims", real, axis=2), states, 0.0)
