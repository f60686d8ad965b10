"""Base class of GRU and LSTM: stacked layers, order of input axes, initial states."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom._arguments import as_integer
from seqloom.errors import ArgumentError, ShapeError
from seqloom.nn._initialisers import FanIn
from seqloom.nn._linear import dropout
from seqloom.nn._module import Module
from seqloom.nn._operands import (
    as_operand,
    find_packing,
    make_range,
    pack_padded,
    pad_packed,
    read_host_array,
)
from seqloom.nn._parameters import Param
from seqloom.nn._submodules import label_layer
from seqloom.tensor import Tensor, apply

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike

    from seqloom._key import Key

_INPUT_AXES = 3  # (n, l, in)


class Recurrent(Module):
    """Base class of GRU and LSTM: stacked layers in one or both directions."""

    param_names: tuple[str, ...]
    input_size: int
    hidden_size: int
    num_layers: int
    batch_first: bool
    dropout: float
    bidirectional: bool
    # Number of gates of a unit, and number of states that are carried between
    # positions.
    _gate_count = 3
    _state_count = 1

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
        self.input_size = as_integer("input_size", input_size, least=1)
        self.hidden_size = as_integer("hidden_size", hidden_size, least=1)
        self.num_layers = as_integer("num_layers", num_layers, least=1)
        if not 0 <= dropout < 1:
            raise ArgumentError(f"dropout must be in [0, 1), got {dropout}")
        self.dropout = float(dropout)
        self.batch_first, self.bidirectional = batch_first, bidirectional
        # The parameters have the names of PyTorch.
        width, fan_in = self.hidden_size, FanIn(self.hidden_size)
        inside, rows = self.input_size, self._gate_count * self.hidden_size
        parts: dict[str, Param] = {}
        for layer in range(self.num_layers):
            for suffix in self._list_suffixes(layer):
                parts[f"weight_ih{suffix}"] = Param((rows, inside), fan_in)
                parts[f"weight_hh{suffix}"] = Param((rows, width), fan_in)
                for name in ("bias_ih", "bias_hh") if bias else ():
                    parts[name + suffix] = Param((rows,), fan_in)
            inside = width * (2 if self.bidirectional else 1)
        self.param_names = tuple(parts)
        for name, param in parts.items():
            setattr(self, name, param)

    def _list_suffixes(self, layer: int) -> list[str]:
        """Return the suffix of the parameter names for each direction of a layer."""
        forward = f"_l{layer}"
        return [forward, f"{forward}_reverse"] if self.bidirectional else [forward]

    def _run_layers(
        self,
        x: Tensor,
        first: list[Tensor] | None,
        mask: Tensor | ArrayLike | None,
        key: Key | None,
    ) -> tuple[Tensor, list[Tensor]]:
        """Run all layers from the initial states ``(k, n, width)``, or from zeros."""
        first = self._make_initial_states(x, first)
        lasts: list[list[Tensor]] = []
        number = 0
        for layer in range(self.num_layers):
            x = self._apply_dropout(x, layer, key)
            outs: list[Tensor] = []
            for suffix in self._list_suffixes(layer):
                states = [state[number] for state in first]
                out, last = self._run_direction(x, states, suffix, mask)
                outs.append(out)
                lasts.append(last)
                number += 1
            x = outs[0] if len(outs) == 1 else apply("concat", outs, axis=-1)
        by_kind = zip(*lasts, strict=True)  # final states; for an LSTM also final cells
        return x, [apply("stack", list(states), axis=0) for states in by_kind]

    def _apply_dropout(self, x: Tensor, layer: int, key: Key | None) -> Tensor:
        """Apply dropout between two layers in training."""
        if not layer or not self.dropout or not self.training:
            return x
        if key is None:
            raise ArgumentError(
                f"{type(self).__name__} with dropout needs a key in training: pass "
                "key=sl.Key(seed, epoch, batch), or call model.eval() first"
            )
        return dropout(x, self.dropout, key.fold(layer))

    def _run_direction(
        self, x: Tensor, first: list[Tensor], suffix: str, mask: Tensor | ArrayLike | None
    ) -> tuple[Tensor, list[Tensor]]:
        """Run one layer in one direction."""
        raise NotImplementedError

    def _list_weights(self, suffix: str) -> Iterator[Tensor]:
        """Yield the parameters of one layer in one direction."""
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            param = getattr(self, name + suffix, None)
            if param is not None:
                yield param.value

    def _run_any_axis_order(
        self,
        x: Tensor,
        first: list[Tensor] | None,
        layout: dict[str, Any],
        max_seqlen: int | None,
        key: Key | None,
    ) -> tuple[Tensor, list[Tensor]]:
        """Run on an input of any axis order, and return the output in the same order."""
        # Raise if the input width is wrong, or more than one argument marks padding.
        name = type(self).__name__
        ways = [way for way, value in layout.items() if value is not None]
        if len(ways) > 1:
            raise ArgumentError(f"{name} accepts only one of {' and '.join(ways)}")
        axes = (_INPUT_AXES - 1,) if "cu_seqlens" in ways else (_INPUT_AXES,)
        axes = axes if ways else (_INPUT_AXES - 1, _INPUT_AXES)
        if x.ndim not in axes or x.shape[-1] != self.input_size:
            form = "(n, l, in)" if self.batch_first else "(l, n, in)"
            form = "(total, in)" if "cu_seqlens" in ways else form
            raise ShapeError(
                f"{label_layer(self)}: expected x {form} with in={self.input_size}, got "
                f"shape {tuple(x.shape)}"
            )
        if layout["cu_seqlens"] is not None:
            packing = find_packing(x, layout["cu_seqlens"], max_seqlen)
            padded, real = pad_packed(x, packing)
            out, last = self._run_layers(padded, first, real, key)
            return pack_padded(out, packing), last
        if x.ndim == _INPUT_AXES - 1:
            first = first and [apply("expand_dims", state, axis=1) for state in first]
            out, last = self._run_layers(apply("expand_dims", x, axis=0), first, None, key)
            return out[0], [state[:, 0] for state in last]
        x = x if self.batch_first else apply("permute_dims", x, (1, 0, 2))
        mask = None
        if layout["lengths"] is not None:
            mask = mask_lengths(x, layout["lengths"])
        elif layout["mask"] is not None:
            mask = to_boolean_mask(x, layout["mask"])
        out, last = self._run_layers(x, first, mask, key)
        return (out if self.batch_first else apply("permute_dims", out, (1, 0, 2))), last

    def _make_initial_states(self, x: Tensor, first: list[Tensor] | None) -> list[Tensor]:
        """Return the given initial states; default: zeros."""
        if not x.shape[1]:
            raise ShapeError(
                f"{type(self).__name__}: expected at least one position, got length 0; "
                "omit empty records"
            )
        count = self.num_layers * (2 if self.bidirectional else 1)
        shape = (count, x.shape[0], self.hidden_size)
        if first is None:
            zeros = apply("zeros_like", apply("broadcast_to", x[:1, 0, :1], shape))
            return [zeros] * self._state_count
        for state in first:
            if state.shape != shape:
                raise ShapeError(
                    f"{type(self).__name__}: expected a first state of shape {shape}, "
                    f"(layers * directions, n, hidden_size), got {state.shape}"
                )
        return first


def to_boolean_mask(x: Tensor, mask: object) -> Tensor:
    """Return a mask of positions as booleans; raise if the shape is wrong."""
    real = as_operand(x, mask)
    if real.shape != x.shape[:2]:
        raise ShapeError(
            f"mask must have shape {x.shape[:2]}, one value for each position of x, got "
            f"{real.shape}"
        )
    return real if real.dtype.kind == "b" else apply("not_equal", real, 0)


def mask_lengths(x: Tensor, lengths: object) -> Tensor:
    """Return a mask that is true at positions below each sequence's length."""
    rows, longest = x.shape[:2]
    host: Any = read_host_array(lengths)
    if host is not None and not (
        host.shape == (rows,)
        and host.dtype.kind in "iu"
        and (not host.size or 0 <= host.min() <= host.max() <= longest)
    ):
        raise ArgumentError(
            f"lengths must be {rows} integers from 0 to {longest}, the number of positions "
            f"of x, got {host.tolist()}"
        )
    ends: Any = apply("expand_dims", as_operand(x, lengths, "int32"), axis=1)
    return apply("less", make_range(x, longest), ends)
