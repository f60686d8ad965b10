"""Recurrent layers: torch's kernels."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def gru(
    x: Tensor,
    h0: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """One layer of gated units."""
    weights = _weights(w_ih, w_hh, b_ih, b_hh)
    out, last = torch.gru(x, h0.unsqueeze(0), weights, *_form(b_ih))
    return out, last.squeeze(0)


def lstm(
    x: Tensor,
    h0: Tensor,
    c0: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """One layer of long short-term memory."""
    weights = _weights(w_ih, w_hh, b_ih, b_hh)
    begin = [h0.unsqueeze(0), c0.unsqueeze(0)]
    out, last, cell = torch.lstm(x, begin, weights, *_form(b_ih))
    return out, last.squeeze(0), cell.squeeze(0)


def _weights(*parts: Tensor | None) -> list[Tensor]:
    """The parameters that there are."""
    return [part for part in parts if part is not None]


def _form(bias: Tensor | None) -> tuple[Any, ...]:
    """Biases or none, one layer, no dropout, in training, one direction, batch first."""
    return bias is not None, 1, 0.0, False, False, True
