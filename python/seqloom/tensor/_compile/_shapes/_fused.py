"""Fused functions: norms, attention, losses, recurrences, updates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.tensor._compile._shapes._elementwise import like_first
from seqloom.tensor._graph import values_in

if TYPE_CHECKING:
    from seqloom.tensor._backend import Backend
    from seqloom.tensor._compile._shapes._trial import Kind, Rule

_FULL = np.dtype(np.float32)


def _kind(value: Any) -> Kind:
    """Shape and type of a value."""
    return value.shape, value.dtype


def _statistic(x: Any) -> np.dtype[Any]:
    """The type of a statistic: half precision keeps it in full."""
    return x.dtype if x.dtype.itemsize >= _FULL.itemsize else _FULL


def _layer_norm(
    _target: Backend, name: str, args: tuple[Any, ...], _options: dict[str, Any]
) -> list[Kind]:
    """The output, and one or two statistics for each row."""
    x = args[0]
    row = (x.shape[:-1], _statistic(x))
    return [_kind(x), row, row] if name == "layer_norm" else [_kind(x), row]


def _norm_grad(
    _target: Backend, name: str, args: tuple[Any, ...], _options: dict[str, Any]
) -> list[Kind]:
    """By the input, the weight and the bias."""
    grad, x = args[:2]
    last = ((x.shape[-1],), grad.dtype)
    return [_kind(x), last, last] if name == "layer_norm_grad" else [_kind(x), last]


def _batch_norm(
    _target: Backend, _name: str, args: tuple[Any, ...], _options: dict[str, Any]
) -> list[Kind]:
    """The output, the means and the variances; or the three derivatives."""
    x = args[0]
    channel = ((x.shape[1],), x.dtype)
    return [_kind(x), channel, channel]


def _attention(
    _target: Backend, _name: str, args: tuple[Any, ...], _options: dict[str, Any]
) -> list[Kind]:
    """The output, and for each row of scores the logarithm of its sum."""
    q, _, v = args[:3]
    return [((*q.shape[:-1], v.shape[-1]), q.dtype), (q.shape[:-1], _statistic(q))]


def _attention_grad(
    _target: Backend, _name: str, args: tuple[Any, ...], _options: dict[str, Any]
) -> list[Kind]:
    """By queries, keys and values."""
    return [_kind(each) for each in args[1:4]]


def _attention_varlen(
    _target: Backend, _name: str, args: tuple[Any, ...], _options: dict[str, Any]
) -> list[Kind]:
    """As attention, for sequences end to end: ``(total, h, d)`` and ``(h, total)``."""
    q, _, v = args[:3]
    rows = (q.shape[1], q.shape[0])
    return [((*q.shape[:-1], v.shape[-1]), q.dtype), (rows, _statistic(q))]


def _losses(
    _target: Backend, _name: str, args: tuple[Any, ...], _options: dict[str, Any]
) -> list[Kind]:
    """A loss for each row, and the derivatives by the logits."""
    logits = args[0]
    return [(logits.shape[:1], logits.dtype), _kind(logits)]


def _losses_grad(
    _target: Backend, _name: str, args: tuple[Any, ...], _options: dict[str, Any]
) -> Kind:
    """As the logits."""
    return _kind(args[1])


def _gru(
    _target: Backend, name: str, args: tuple[Any, ...], _options: dict[str, Any]
) -> list[Kind]:
    """The states at each place, and the last ones."""
    x, state = args[:2]
    out = ((*x.shape[:2], state.shape[-1]), x.dtype)
    return [out, _kind(state)] if name == "gru" else [out, _kind(state), _kind(state)]


def _adamw(
    _target: Backend, _name: str, args: tuple[Any, ...], _options: dict[str, Any]
) -> list[Kind]:
    """The parameters and both averages, as they were."""
    params, _, first, second = args[:4]
    return [_kind(each) for each in (*params, *first, *second)]


def _sgd(
    _target: Backend, _name: str, args: tuple[Any, ...], _options: dict[str, Any]
) -> list[Kind]:
    """The parameters and their momenta, as they were."""
    params, _, momenta = args[:3]
    return [_kind(each) for each in values_in([params, momenta])]


def _clip(
    _target: Backend, _name: str, args: tuple[Any, ...], _options: dict[str, Any]
) -> list[Kind]:
    """The gradients, and their norm."""
    grads = args[0]
    return [*map(_kind, grads), ((), _statistic(grads[0]))]


RULES: dict[str, Rule] = {
    **dict.fromkeys(("dropout", "scale_shift"), like_first),
    **dict.fromkeys(("layer_norm", "rms_norm"), _layer_norm),
    **dict.fromkeys(("layer_norm_grad", "rms_norm_grad"), _norm_grad),
    **dict.fromkeys(("batch_norm", "batch_norm_grad"), _batch_norm),
    **dict.fromkeys(("attention_grad", "attention_varlen_grad"), _attention_grad),
    **dict.fromkeys(("gru", "lstm"), _gru),
    "attention": _attention,
    "attention_varlen": _attention_varlen,
    "cross_entropy": _losses,
    "cross_entropy_grad": _losses_grad,
    "adamw": _adamw,
    "sgd": _sgd,
    "clip_by_global_norm": _clip,
}
