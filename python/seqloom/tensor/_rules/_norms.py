"""Normalisation and softmax.

Statistics are kept for the fused gradient kernels; where the gradient is followed too, the
default bodies of those compute from the inputs alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.tensor._rules import _keep as keep
from seqloom.tensor._rules._rule import Parts, Pull, Rule

if TYPE_CHECKING:
    from seqloom.tensor._defaults import Array, ArrayFunctions


def _by_rows(name: str) -> Pull:
    """The rule of softmax and its logarithm: the output decides."""

    def pull(b: ArrayFunctions, saved: Any, grad: Array, _needs: keep.Needs) -> Parts:
        out, options = saved
        return (getattr(b, f"{name}_grad")(grad, out, axis=options.get("axis", -1)),)

    return pull


def _keep_statistics(args: keep.Args, out: Any, _needs: Any, options: Any) -> Any:
    """The inputs, the statistics and the options, but not the output."""
    return args, out[1:], options


def _layer_norm(b: ArrayFunctions, saved: Any, grad: Array, _needs: keep.Needs) -> Parts:
    (x, weight, *_), (mean, rstd), _ = saved
    return b.layer_norm_grad(grad, x, weight, mean, rstd)


def _rms_norm(b: ArrayFunctions, saved: Any, grad: Array, _needs: keep.Needs) -> Parts:
    (x, weight), (rstd,), _ = saved
    return b.rms_norm_grad(grad, x, weight, rstd)


def _batch_norm(b: ArrayFunctions, saved: Any, grad: Array, _needs: keep.Needs) -> Parts:
    (x, weight, _bias, *mask), (mean, variance), options = saved
    mask = mask[0] if mask else None
    return b.batch_norm_grad(grad, x, weight, mask, mean, variance, eps=options["eps"])


def _keep_scaled(args: keep.Args, _out: Any, needs: keep.Needs, _options: Any) -> Any:
    """The input if the scale is followed, the scale if the input is; the mask."""
    x, scale, _shift, *mask = args
    kept = x if needs[1] else None, scale if needs[0] else None
    return *kept, mask[0] if mask else None


def _scale_shift(b: ArrayFunctions, saved: Any, grad: Array, needs: keep.Needs) -> Parts:
    x, scale, mask = saved
    if mask is not None:
        mask = b.expand_dims(mask, axis=1)
        padding = b.equal(mask, 0)
        grad = b.where(padding, 0.0, b.multiply(grad, mask))
        x = x if x is None else b.where(padding, 0.0, x)
    by_x = b.multiply(grad, b.reshape(scale, (-1, 1))) if needs[0] else None
    by_scale = b.sum(b.multiply(grad, x), axis=(0, 2)) if needs[1] else None
    by_shift = b.sum(grad, axis=(0, 2)) if needs[2] else None
    return by_x, by_scale, by_shift


RULES: dict[str, Rule] = {
    "softmax": Rule(keep.output_and_options, _by_rows("softmax")),
    "log_softmax": Rule(keep.output_and_options, _by_rows("log_softmax")),
    "layer_norm": Rule(_keep_statistics, _layer_norm),
    "rms_norm": Rule(_keep_statistics, _rms_norm),
    "batch_norm": Rule(_keep_statistics, _batch_norm),
    "scale_shift": Rule(_keep_scaled, _scale_shift),
}
