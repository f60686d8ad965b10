"""The table of operations: where each one is defined, derived, sized and overridden.

To know what `softmax` is, read its line. The names are those of files:

- ``default``: in ``_defaults/``, the body that every backend has. An operation without one
  is required of each backend, and is the Array API standard's of that name.
- ``rule``: in ``_rules/``, how a gradient goes back. Without one, the default body is run
  and its parts have rules; or the operation has no gradient.
- ``shape``: in ``_compile/_shapes/``, shape and dtype of the result in a captured step.
  Without one, the default body tells them, run on symbols. One is written where the body
  gives another dtype than a backend, has too many steps, or refuses less clearly.
- ``overrides``: the backends of seqloom that have a function of their own, in
  ``backends/_numpy/``, ``_torch/`` and ``_jax/``.

The rules, the shapes and the backends are found by this table: a line that is wrong, or a
backend's function whose name is misspelt, is an error at import.
"""

from __future__ import annotations

from typing import NamedTuple


class OperationFiles(NamedTuple):
    """The files that make one operation; a name is empty where there is none."""

    default: str
    rule: str
    shape: str
    overrides: tuple[str, ...]  # names of backends


_TABLE = """
# operation           default       rule           shape          overrides
# Making arrays. Floats are of the backend's `float_dtype` unless a dtype is given.
asarray               -             -              _elementwise   numpy torch jax
empty                 -             -              -              numpy torch jax
zeros                 -             -              -              numpy torch jax
ones                  -             -              -              numpy torch jax
full                  -             -              -              numpy torch jax
arange                -             -              -              numpy torch jax
eye                   -             -              -              numpy torch jax
from_dlpack           -             -              -              numpy torch jax
# Element types.
astype                -             _elementwise   _elementwise   numpy torch jax
finfo                 -             -              -              numpy torch jax
iinfo                 -             -              -              numpy torch jax
isdtype               -             -              -              numpy torch jax
result_type           -             -              -              numpy torch jax
# One array, element by element.
negative              -             _elementwise   _elementwise   numpy torch jax
abs                   -             _elementwise   _elementwise   numpy torch jax
sign                  -             _elementwise   _elementwise   numpy torch jax
exp                   -             _elementwise   _elementwise   numpy torch jax
expm1                 -             _elementwise   _elementwise   numpy torch jax
log                   -             _elementwise   _elementwise   numpy torch jax
log1p                 -             _elementwise   _elementwise   numpy torch jax
sqrt                  -             _elementwise   _elementwise   numpy torch jax
square                -             _elementwise   _elementwise   numpy torch jax
reciprocal            -             _elementwise   _elementwise   numpy torch jax
sin                   -             _elementwise   _elementwise   numpy torch jax
cos                   -             _elementwise   _elementwise   numpy torch jax
tanh                  -             _elementwise   _elementwise   numpy torch jax
floor                 -             _elementwise   _elementwise   numpy torch jax
ceil                  -             _elementwise   _elementwise   numpy torch jax
round                 -             _elementwise   _elementwise   numpy torch jax
isfinite              -             -              _elementwise   numpy torch jax
isnan                 -             -              _elementwise   numpy torch jax
logical_not           -             -              _elementwise   numpy torch jax
bitwise_invert        -             -              _elementwise   numpy torch jax
# Two arrays, element by element, broadcast.
add                   -             _arithmetic    _elementwise   numpy torch jax
subtract              -             _arithmetic    _elementwise   numpy torch jax
multiply              -             _arithmetic    _elementwise   numpy torch jax
divide                -             _arithmetic    _elementwise   numpy torch jax
floor_divide          -             -              _elementwise   numpy torch jax
remainder             -             _arithmetic    _elementwise   numpy torch jax
pow                   -             _arithmetic    _elementwise   numpy torch jax
maximum               -             _arithmetic    _elementwise   numpy torch jax
minimum               -             _arithmetic    _elementwise   numpy torch jax
atan2                 -             _arithmetic    _elementwise   numpy torch jax
logaddexp             -             _arithmetic    _elementwise   numpy torch jax
equal                 -             -              _elementwise   numpy torch jax
not_equal             -             -              _elementwise   numpy torch jax
less                  -             -              _elementwise   numpy torch jax
less_equal            -             -              _elementwise   numpy torch jax
greater               -             -              _elementwise   numpy torch jax
greater_equal         -             -              _elementwise   numpy torch jax
logical_and           -             -              _elementwise   numpy torch jax
logical_or            -             -              _elementwise   numpy torch jax
bitwise_and           -             -              _elementwise   numpy torch jax
bitwise_or            -             -              _elementwise   numpy torch jax
bitwise_xor           -             -              _elementwise   numpy torch jax
bitwise_left_shift    -             -              _elementwise   numpy torch jax
bitwise_right_shift   -             -              _elementwise   numpy torch jax
# Choosing.
where                 -             _arithmetic    _elementwise   numpy torch jax
clip                  -             _arithmetic    _elementwise   numpy torch jax
# Over axes: ``axis=None`` is all of them, ``keepdims=True`` leaves them with length 1.
sum                   -             _reductions    _axes          numpy torch jax
mean                  -             _reductions    _axes          numpy torch jax
var                   -             _reductions    _axes          numpy torch jax
max                   -             _reductions    _axes          numpy torch jax
min                   -             _reductions    _axes          numpy torch jax
prod                  -             _reductions    _axes          numpy torch jax
any                   -             -              _axes          numpy torch jax
all                   -             -              _axes          numpy torch jax
argmax                -             -              _axes          numpy torch jax
argmin                -             -              _axes          numpy torch jax
count_nonzero         -             -              _axes          numpy torch jax
cumulative_sum        -             _reductions    _axes          numpy torch jax
# Products.
matmul                -             _products      _layers        numpy torch jax
matrix_transpose      -             _shapes        _axes          numpy torch jax
tensordot             -             _products      _layers        numpy torch jax
# Shapes.
reshape               -             _shapes        _axes          numpy torch jax
permute_dims          -             _shapes        _axes          numpy torch jax
broadcast_to          -             _shapes        _axes          numpy torch jax
concat                -             _shapes        _axes          numpy torch jax
stack                 -             _shapes        _axes          numpy torch jax
expand_dims           -             _shapes        _axes          numpy torch jax
squeeze               -             _shapes        _axes          numpy torch jax
flip                  -             _shapes        _axes          numpy torch jax
roll                  -             _shapes        _axes          numpy torch jax
repeat                -             _shapes        _axes          numpy torch jax
tile                  -             _shapes        _axes          numpy torch jax
unstack               -             _shapes        _axes          numpy torch jax
# Indexing, sorting and searching.
take                  -             _indexing      _indexing      numpy torch jax
take_along_axis       -             _indexing      _indexing      numpy torch jax
argsort               -             -              _indexing      numpy torch jax
sort                  -             _shapes        _indexing      numpy torch jax
searchsorted          -             -              _indexing      numpy torch jax
nonzero               -             -              -              numpy torch jax
index                 _index        _indexing      _indexing      numpy torch jax
# Beyond the standard: each has a default body.
relu                  _activation   _elementwise   _elementwise   numpy torch jax
relu_grad             _activation   _elementwise   _elementwise   numpy torch jax
sigmoid               _activation   _elementwise   _elementwise   numpy torch jax
sigmoid_grad          _activation   _elementwise   _elementwise   numpy torch
gelu                  _activation   _elementwise   _elementwise   numpy torch jax
gelu_grad             _activation   -              _elementwise   numpy torch jax
silu                  _activation   _elementwise   _elementwise   numpy torch
softplus              _activation   _elementwise   _elementwise   torch
softmax               _activation   _norms         _axes          numpy torch jax
softmax_grad          _activation   -              _axes          numpy torch
log_softmax           _activation   _norms         _axes          numpy torch jax
log_softmax_grad      _activation   -              _axes          numpy torch
logsumexp             _activation   _reductions    _axes          numpy torch jax
attention             _attention    _attention     _layers        numpy torch
attention_grad        _attention    -              _layers        numpy torch jax
batch_norm            _batch_norm   _norms         -              numpy torch
batch_norm_grad       _batch_norm   -              -              numpy torch
scale_shift           _batch_norm   _norms         _layers        numpy
conv1d                _convolution  _windows       _windows       numpy torch jax
conv2d                _convolution  _windows       _windows       numpy torch jax
conv1d_input_grad     _convolution  _windows       _windows       numpy torch jax
conv2d_input_grad     _convolution  _windows       _windows       numpy torch jax
conv1d_weight_grad    _convolution  _windows       _windows       numpy torch jax
conv2d_weight_grad    _convolution  _windows       _windows       numpy torch jax
conv_transpose1d      _convolution  -              _windows       numpy torch
conv_transpose2d      _convolution  -              _windows       numpy torch
feed_forward          _dense        -             -              numpy
linear_by_row         _dense        -             -              numpy
rotary_linear         _dense        -             -              numpy
feed_forward_int8     _int8         -             -              numpy torch
linear_int8           _int8         -             -              numpy torch
rotary_linear_int8    _int8         -             -              numpy torch
stop_gradient         _derived      _elementwise   _elementwise   torch jax
accumulate            _derived      -              -              numpy torch
rsqrt                 _derived      _elementwise   _elementwise   torch jax
positive              _derived      -              _elementwise   numpy torch jax
isinf                 _derived      -              _elementwise   numpy torch jax
logical_xor           _derived      -              _elementwise   numpy torch jax
tan                   _derived      -              _elementwise   numpy torch jax
sinh                  _derived      _elementwise   _elementwise   numpy torch jax
cosh                  _derived      _elementwise   _elementwise   numpy torch jax
std                   _derived      _reductions    _axes          numpy jax
moveaxis              _derived      -              -              numpy torch jax
tril                  _derived      -              -              numpy torch jax
triu                  _derived      -              -              numpy torch jax
einsum                _products     _einsum        -              torch jax
log2                  _elementary   _elementwise   _elementwise   numpy torch jax
log10                 _elementary   _elementwise   _elementwise   numpy torch jax
asin                  _elementary   _elementwise   _elementwise   numpy torch jax
acos                  _elementary   _elementwise   _elementwise   numpy torch jax
atan                  _elementary   _elementwise   _elementwise   numpy torch jax
asinh                 _elementary   _elementwise   _elementwise   numpy torch jax
acosh                 _elementary   _elementwise   _elementwise   numpy torch jax
atanh                 _elementary   _elementwise   _elementwise   numpy torch jax
hypot                 _elementary   _arithmetic    _elementwise   numpy torch jax
trunc                 _elementary   _elementwise   _elementwise   numpy torch jax
signbit               _elementary   -              _elementwise   numpy torch jax
copysign              _elementary   _arithmetic    _elementwise   numpy torch jax
nextafter             _elementary   _elementwise   _elementwise   numpy torch jax
vecdot                _elementary   -              -              jax
conj                  _elementary   _elementwise   _elementwise   numpy torch jax
real                  _elementary   _elementwise   _elementwise   torch jax
imag                  _elementary   _elementwise   _elementwise   torch jax
erf                   _erf          _elementwise   _elementwise   numpy torch jax
erfc                  _erf          _elementwise   _elementwise   torch jax
scatter_add           _lookup       _indexing      _indexing      numpy torch jax
scatter_index         _lookup       _indexing      _indexing      numpy torch jax
slice_update          _lookup       _indexing      _indexing      numpy torch jax
slice_add             _lookup       _indexing      _indexing      numpy torch jax
put_along_axis        _lookup       _indexing      _indexing      numpy torch jax
embedding             _lookup       _indexing      -              numpy torch jax
embedding_grad        _lookup       _indexing      -              numpy torch jax
cross_entropy         _loss         _losses        -              numpy torch jax
cross_entropy_grad    _loss         -              -              numpy torch jax
empty_like            _making       -              -              -
zeros_like            _making       -              -              -
ones_like             _making       -              -              -
full_like             _making       -              -              -
linspace              _making       -              -              -
broadcast_arrays      _making       -              -              -
meshgrid              _making       -              -              -
layer_norm            _norm         _norms         -              numpy torch
layer_norm_grad       _norm         -              -              numpy torch jax
rms_norm              _norm         _norms         -              numpy torch
rms_norm_grad         _norm         -              -              numpy torch jax
adamw                 _optimiser    -              _layers        numpy torch jax
sgd                   _optimiser    -              _layers        torch jax
clip_by_global_norm   _optimiser    -              _layers        torch jax
attention_varlen      _packed       _attention     _layers        numpy torch jax
attention_varlen_grad _packed       -              _layers        numpy torch jax
max_pool1d            _pooling      _windows       _windows       numpy torch
max_pool2d            _pooling      _windows       _windows       torch
max_pool1d_grad       _pooling      _windows       _windows       numpy torch
max_pool2d_grad       _pooling      _windows       _windows       numpy torch
avg_pool1d            _pooling      _windows       _windows       torch
avg_pool2d            _pooling      _windows       _windows       torch
avg_pool1d_grad       _pooling      _windows       _windows       torch
avg_pool2d_grad       _pooling      _windows       _windows       torch
linear                _products     _products      _layers        numpy torch
key_words             _random       -              -              torch jax
fold_in               _random       -              _elementwise   numpy torch jax
split                 _random       -              _elementwise   numpy torch jax
random_bits           _random       -              _elementwise   numpy torch jax
uniform               _random       -              _elementwise   numpy torch jax
normal                _random       -              _elementwise   numpy torch jax
truncated_normal      _random       -              _elementwise   numpy torch jax
bernoulli             _random       -              _elementwise   numpy torch jax
randint               _random       -              -              numpy torch jax
permutation           _random       -              -              numpy torch jax
dropout               _random       _losses        _layers        numpy torch
scan                  _recurrent    -              -              jax
gru                   _recurrent    _recurrent     _layers        numpy torch jax
gru_grad              _recurrent_grad -            _layers        numpy torch jax
lstm                  _recurrent    _recurrent     _layers        numpy torch jax
lstm_grad             _recurrent_grad -            _layers        numpy torch jax
cumulative_prod       _series       -              _axes          numpy torch jax
logcumsumexp          _series       _reductions    _axes          numpy torch jax
diff                  _series       -              -              -
unique_all            _sets         -              -              -
unique_counts         _sets         -              -              -
unique_inverse        _sets         -              -              -
unique_values         _sets         -              -              -
isin                  _sets         -              -              numpy torch jax
pad                   _shape        _shapes        _axes          torch jax
spaced                _shape        -              -              jax
topk                  _shape        _indexing      _indexing      jax
one_hot               _shape        -              _indexing      torch jax
unfold                _window       _windows       _windows       torch
fold                  _window       _windows       _windows       torch
to_full_precision     _backend      -              _elementwise   -
"""


def _parse(line: str) -> OperationFiles:
    """Reads one line of the table, without its name."""
    default, rule, shape, *overrides = (
        "" if cell == "-" else cell for cell in line.split()
    )
    return OperationFiles(default, rule, shape, tuple(filter(None, overrides)))


OPERATIONS: dict[str, OperationFiles] = {
    line.split()[0]: _parse(line.partition(" ")[2])
    for line in _TABLE.splitlines()
    if line and not line.startswith("#")
}
