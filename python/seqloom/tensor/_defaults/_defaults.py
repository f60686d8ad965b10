"""All default bodies in one class, and the names of them all."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from seqloom.tensor._defaults import (
    _activation,
    _attention,
    _batch_norm,
    _convolution,
    _dense,
    _derived,
    _elementary,
    _erf,
    _index,
    _int8,
    _lookup,
    _loss,
    _making,
    _norm,
    _optimiser,
    _packed,
    _pooling,
    _products,
    _random,
    _recurrent,
    _recurrent_grad,
    _series,
    _sets,
    _shape,
    _window,
)
from seqloom.tensor._defaults._standard import REQUIRED, Standard

_NONE: Mapping[str, Callable[..., Any]] = MappingProxyType({})


class ArrayFunctions(Standard):
    """The functions of a backend over its arrays: required names and default bodies.

    Examples:
        >>> "softmax" in EXTENSION
        True
    """

    relu = _activation.relu
    relu_grad = _activation.relu_grad
    sigmoid = _activation.sigmoid
    sigmoid_grad = _activation.sigmoid_grad
    gelu = _activation.gelu
    gelu_grad = _activation.gelu_grad
    silu = _activation.silu
    softplus = _activation.softplus
    softmax = _activation.softmax
    softmax_grad = _activation.softmax_grad
    log_softmax = _activation.log_softmax
    log_softmax_grad = _activation.log_softmax_grad
    logsumexp = _activation.logsumexp

    attention = _attention.attention
    attention_grad = _attention.attention_grad

    batch_norm = _batch_norm.batch_norm
    batch_norm_grad = _batch_norm.batch_norm_grad
    scale_shift = _batch_norm.scale_shift

    conv1d = _convolution.conv1d
    conv2d = _convolution.conv2d
    conv1d_input_grad = _convolution.conv1d_input_grad
    conv2d_input_grad = _convolution.conv2d_input_grad
    conv1d_weight_grad = _convolution.conv1d_weight_grad
    conv2d_weight_grad = _convolution.conv2d_weight_grad
    conv_transpose1d = _convolution.conv_transpose1d
    conv_transpose2d = _convolution.conv_transpose2d

    feed_forward = _dense.feed_forward
    linear_by_row = _dense.linear_by_row
    rotary_linear = _dense.rotary_linear
    feed_forward_int8 = _int8.feed_forward_int8
    linear_int8 = _int8.linear_int8
    rotary_linear_int8 = _int8.rotary_linear_int8

    stop_gradient = _derived.stop_gradient
    accumulate = _derived.accumulate
    rsqrt = _derived.rsqrt
    positive = _derived.positive
    isinf = _derived.isinf
    logical_xor = _derived.logical_xor
    tan = _derived.tan
    sinh = _derived.sinh
    cosh = _derived.cosh
    std = _derived.std
    moveaxis = _derived.moveaxis
    tril = _derived.tril
    triu = _derived.triu

    einsum = _products.einsum

    log2 = _elementary.log2
    log10 = _elementary.log10
    asin = _elementary.asin
    acos = _elementary.acos
    atan = _elementary.atan
    asinh = _elementary.asinh
    acosh = _elementary.acosh
    atanh = _elementary.atanh
    hypot = _elementary.hypot
    trunc = _elementary.trunc
    signbit = _elementary.signbit
    copysign = _elementary.copysign
    nextafter = _elementary.nextafter
    vecdot = _elementary.vecdot
    conj = _elementary.conj
    real = _elementary.real
    imag = _elementary.imag

    erf = _erf.erf
    erfc = _erf.erfc

    scatter_add = _lookup.scatter_add
    scatter_index = _lookup.scatter_index
    slice_update = _lookup.slice_update
    slice_add = _lookup.slice_add
    put_along_axis = _lookup.put_along_axis
    embedding = _lookup.embedding
    embedding_grad = _lookup.embedding_grad

    cross_entropy = _loss.cross_entropy
    cross_entropy_grad = _loss.cross_entropy_grad

    empty_like = _making.empty_like
    zeros_like = _making.zeros_like
    ones_like = _making.ones_like
    full_like = _making.full_like
    linspace = _making.linspace
    broadcast_arrays = _making.broadcast_arrays
    meshgrid = _making.meshgrid

    layer_norm = _norm.layer_norm
    layer_norm_grad = _norm.layer_norm_grad
    rms_norm = _norm.rms_norm
    rms_norm_grad = _norm.rms_norm_grad

    adamw = _optimiser.adamw
    sgd = _optimiser.sgd
    clip_by_global_norm = _optimiser.clip_by_global_norm

    attention_varlen = _packed.attention_varlen
    attention_varlen_grad = _packed.attention_varlen_grad

    max_pool1d = _pooling.max_pool1d
    max_pool2d = _pooling.max_pool2d
    max_pool1d_grad = _pooling.max_pool1d_grad
    max_pool2d_grad = _pooling.max_pool2d_grad
    avg_pool1d = _pooling.avg_pool1d
    avg_pool2d = _pooling.avg_pool2d
    avg_pool1d_grad = _pooling.avg_pool1d_grad
    avg_pool2d_grad = _pooling.avg_pool2d_grad

    index = _index.index
    linear = _products.linear

    key_words = _random.key_words
    fold_in = _random.fold_in
    split = _random.split
    random_bits = _random.random_bits
    uniform = _random.uniform
    normal = _random.normal
    truncated_normal = _random.truncated_normal
    bernoulli = _random.bernoulli
    randint = _random.randint
    permutation = _random.permutation
    dropout = _random.dropout

    scan = _recurrent.scan
    gru = _recurrent.gru
    gru_grad = _recurrent_grad.gru_grad
    lstm = _recurrent.lstm
    lstm_grad = _recurrent_grad.lstm_grad

    cumulative_prod = _series.cumulative_prod
    logcumsumexp = _series.logcumsumexp
    diff = _series.diff

    unique_all = _sets.unique_all
    unique_counts = _sets.unique_counts
    unique_inverse = _sets.unique_inverse
    unique_values = _sets.unique_values
    isin = _sets.isin

    pad = _shape.pad
    spaced = _shape.spaced
    topk = _shape.topk
    one_hot = _shape.one_hot

    unfold = _window.unfold
    fold = _window.fold

    def __init_subclass__(
        cls, *, functions: Mapping[str, Callable[..., Any]] = _NONE, **options: Any
    ) -> None:
        """Makes functions, which take the backend first, methods of the class by name."""
        super().__init_subclass__(**options)
        for name, function in functions.items():
            setattr(cls, name, function)


EXTENSION = frozenset(name for name in vars(ArrayFunctions) if name[0] != "_") - REQUIRED
