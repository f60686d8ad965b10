"""GRU and LSTM: layers that carry a state along the sequence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom._arguments import as_integer
from seqloom.errors import ArgumentError, ShapeError
from seqloom.nn import functional
from seqloom.nn._initialisers import FanIn
from seqloom.nn._module import Module
from seqloom.nn._stored import Param
from seqloom.nn.functional._packed import find_packing, pack_padded, pad_packed
from seqloom.nn.functional._recurrent import as_real, mask_lengths
from seqloom.tensor import apply

if TYPE_CHECKING:
    from collections.abc import Iterator

    from seqloom._key import Key
    from seqloom.tensor import Tensor

_AXES = 3  # n, l, in


class _Recurrent(Module):
    """What GRU and LSTM share: layers over layers, in one direction or both."""

    part_names: tuple[str, ...]
    input_size: int
    hidden_size: int
    num_layers: int
    batch_first: bool
    dropout: float
    bidirectional: bool

    def _build(self, gates: int, bias: bool) -> None:
        """Declares the parameters under torch's names."""
        width, fan_in = self.hidden_size, FanIn(self.hidden_size)
        inside = self.input_size
        parts: dict[str, Param] = {}
        for layer in range(self.num_layers):
            for end in self._directions(layer):
                parts[f"weight_ih{end}"] = Param((gates * width, inside), fan_in)
                parts[f"weight_hh{end}"] = Param((gates * width, width), fan_in)
                if bias:
                    parts[f"bias_ih{end}"] = Param((gates * width,), fan_in)
                    parts[f"bias_hh{end}"] = Param((gates * width,), fan_in)
            inside = width * (2 if self.bidirectional else 1)
        self.part_names = tuple(parts)
        for name, param in parts.items():
            setattr(self, name, param)

    def _directions(self, layer: int) -> list[str]:
        """Returns how the names of a layer's parameters end, for each direction."""
        ends = [f"_l{layer}"]
        return [*ends, f"_l{layer}_reverse"] if self.bidirectional else ends

    def _set(self, sizes: dict[str, int], dropout: float, **options: bool) -> None:
        """Sets the fields; refuses what does not fit."""
        for name, size in sizes.items():
            setattr(self, name, as_integer(name, size, least=1))
        if not 0 <= dropout < 1:
            raise ArgumentError(f"dropout must be in [0, 1), got {dropout}")
        self.dropout = float(dropout)
        self.batch_first, self.bidirectional = (
            options["batch_first"],
            options["bidirectional"],
        )

    def _run(
        self, x: Tensor, first: list[Tensor], mask: Any, key: Key | None
    ) -> tuple[Tensor, list[Tensor]]:
        """Runs all layers; `first` and the result hold states ``(k, n, width)``."""
        lasts: list[list[Tensor]] = []
        number = 0
        for layer in range(self.num_layers):
            x = self._drop(x, layer, key)
            outs: list[Tensor] = []
            for end in self._directions(layer):
                begin = [state[number] for state in first]
                out, last = self._run_direction(x, begin, end, mask)
                outs.append(out)
                lasts.append(last)
                number += 1
            x = outs[0] if len(outs) == 1 else apply("concat", outs, axis=-1)
        ends = zip(*lasts, strict=True)
        return x, [apply("stack", list(states), axis=0) for states in ends]

    def _drop(self, x: Tensor, layer: int, key: Key | None) -> Tensor:
        """Drops elements between two layers in training."""
        if not layer or not self.dropout or not self.training:
            return x
        if key is None:
            raise ArgumentError(
                f"{type(self).__name__} with dropout needs a key in training: pass "
                "key=sl.Key(seed, epoch, batch), or call model.eval() first"
            )
        return functional.dropout(x, self.dropout, key.fold(layer))

    def _run_direction(
        self, x: Tensor, first: list[Tensor], end: str, mask: Any
    ) -> tuple[Tensor, list[Tensor]]:
        """Runs one layer in one direction."""
        raise NotImplementedError

    def _weights(self, end: str) -> Iterator[Tensor]:
        """Yields the parameters of one layer in one direction."""
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            param = getattr(self, name + end, None)
            if param is not None:
                yield param.value

    def _apply(
        self,
        x: Tensor,
        first: list[Tensor] | None,
        given: dict[str, Any],
        key: Key | None,
    ) -> tuple[Tensor, list[Tensor]]:
        """Brings any form of input to ``(n, l, in)``, and the output back to that form."""
        self._require_input(x, given)
        if given["cu_seqlens"] is not None:
            packing = find_packing(x, given["cu_seqlens"], given["max_seqlen"])
            padded, real = pad_packed(x, packing)
            out, last = self._run(padded, self._begin(padded, first), real, key)
            return pack_padded(out, packing), last
        if x.ndim == _AXES - 1:
            first = first and [apply("expand_dims", state, axis=1) for state in first]
            out, last = self._run_batch(apply("expand_dims", x, axis=0), first, None, key)
            return out[0], [state[:, 0] for state in last]
        x = x if self.batch_first else apply("permute_dims", x, (1, 0, 2))
        out, last = self._run_batch(x, first, _find_mask(x, given), key)
        return (out if self.batch_first else apply("permute_dims", out, (1, 0, 2))), last

    def _run_batch(
        self, x: Tensor, first: list[Tensor] | None, mask: Any, key: Key | None
    ) -> tuple[Tensor, list[Tensor]]:
        """Runs all layers from the given states, or from zeros."""
        return self._run(x, self._begin(x, first), mask, key)

    def _require_input(self, x: Tensor, given: dict[str, Any]) -> None:
        """Refuses inputs of another width, and two ways to say what is real."""
        name = type(self).__name__
        ways = [way for way in ("mask", "lengths", "cu_seqlens") if given[way] is not None]
        if len(ways) > 1:
            raise ArgumentError(f"{name} takes one of {' and '.join(ways)}, got both")
        axes = (_AXES - 1,) if "cu_seqlens" in ways else (_AXES,)
        axes = axes if ways else (_AXES - 1, _AXES)
        if x.ndim not in axes or x.shape[-1] != self.input_size:
            form = "(total, in)" if "cu_seqlens" in ways else self._form()
            raise ShapeError(
                f"{name}: expected x {form} with in={self.input_size}, got shape {x.shape}"
            )

    def _form(self) -> str:
        """Returns the axes of the input."""
        return "(n, l, in)" if self.batch_first else "(l, n, in)"

    def _begin(self, x: Tensor, first: list[Tensor] | None) -> list[Tensor]:
        """Returns the first states that were given, or zeros."""
        if not x.shape[1]:
            raise ShapeError(
                f"{type(self).__name__}: expected at least one position, got length 0; "
                "leave out empty records"
            )
        count = self.num_layers * (2 if self.bidirectional else 1)
        shape = (count, x.shape[0], self.hidden_size)
        if first is None:
            zeros = apply("zeros_like", apply("broadcast_to", x[:1, 0, :1], shape))
            return [zeros] * self._states
        for state in first:
            if state.shape != shape:
                raise ShapeError(
                    f"{type(self).__name__}: expected a first state of shape {shape}, "
                    f"(layers * directions, n, hidden_size), got {state.shape}"
                )
        return first

    _states = 1


def _find_mask(x: Tensor, given: dict[str, Any]) -> Tensor | None:
    """Returns which positions of ``(n, l, in)`` are real; None for all."""
    if given["lengths"] is not None:
        return mask_lengths(x, given["lengths"])
    return None if given["mask"] is None else as_real(x, given["mask"])


class GRU(_Recurrent):
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
        self._set(sizes, dropout, batch_first=batch_first, bidirectional=bidirectional)
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
        out, (last,) = self._apply(x, None if hx is None else [hx], given, key)
        return out, last

    def _run_direction(
        self, x: Tensor, first: list[Tensor], end: str, mask: Any
    ) -> tuple[Tensor, list[Tensor]]:
        """Runs one layer in one direction."""
        reverse = end.endswith("reverse")
        out, last = functional.gru(
            x, *first, *self._weights(end), mask=mask, reverse=reverse
        )
        return out, [last]


class LSTM(_Recurrent):
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
        self._set(sizes, dropout, batch_first=batch_first, bidirectional=bidirectional)
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
        out, (last, cell) = self._apply(x, None if hx is None else list(hx), given, key)
        return out, (last, cell)

    def _run_direction(
        self, x: Tensor, first: list[Tensor], end: str, mask: Any
    ) -> tuple[Tensor, list[Tensor]]:
        """Runs one layer in one direction."""
        reverse = end.endswith("reverse")
        begin = first[0], first[1]
        out, last = functional.lstm(
            x, begin, *self._weights(end), mask=mask, reverse=reverse
        )
        return out, list(last)
