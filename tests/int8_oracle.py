"""Int8 linear layers in NumPy, with sums in int64."""

import numpy as np

INT8_LEVELS = np.float32(254)


def draw_layer(rng, outputs, inputs):
    """Return a weight, scales, factors and a bias."""
    weight = rng.integers(-128, 128, (outputs, inputs)).astype(np.int8)
    scale = rng.uniform(0.001, 0.01, outputs).astype(np.float32)
    factor = np.exp(rng.normal(0, 1, inputs)).astype(np.float32)
    return weight, scale, factor, rng.standard_normal(outputs).astype(np.float32)


def quantize(x):
    """Quantise rows to integers (rows, in), and return the scale (rows, 1) of each row."""
    low = np.minimum(x.min(axis=1, keepdims=True, initial=0), 0)
    high = np.maximum(x.max(axis=1, keepdims=True, initial=0), 0)
    scale = high / INT8_LEVELS - low / INT8_LEVELS
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        inverse = np.float32(1) / scale
        zero = np.rint(-low * inverse).astype(np.float64)
        whole = np.rint((x * inverse).astype(np.float64) + zero) - zero
    is_zero = ~np.isfinite(inverse)
    whole = np.where(is_zero, 0, whole).astype(np.int64)
    return whole, np.where(is_zero, np.float32(0), scale)


def linear(x, weight, scale, factor, bias=None, residual=None):
    """Return the exact outputs."""
    shape = (*x.shape[:-1], weight.shape[0])
    whole, row_scale = quantize(x.reshape(-1, x.shape[-1]) * factor)
    sums = (whole @ weight.astype(np.int64).T).astype(np.float32)
    out = sums * (row_scale * scale)
    out = (out if bias is None else out + bias).reshape(shape)
    return out if residual is None else out + residual
