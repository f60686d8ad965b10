"""The table of operations: the only place that lists them.

Each line describes one operation. The first three columns name files, without the
underscore at the beginning:

- ``default``: the file in ``_defaults/`` with the default implementation. Without one, each
  backend must implement the function of that name of the Array API standard.
- ``rule``: the file in ``_rules/`` with the rule of the gradient. Without one, the gradient
  follows from the default implementation, or the operation has none.
- ``shape``: the file in ``_compile/_shapes/`` that computes shape and dtype of the result
  in a captured step. Without one, the default implementation runs on symbolic arrays. An
  operation has its own if the default gives another dtype than a backend, takes too many
  steps, or raises a less clear error.

The others are:

- ``overrides``: the backends that override the default, in ``backends/_numpy/``,
  ``_torch/`` and ``_jax/``; ``all`` means these three.
- ``results``: the number of results in an exported graph, ``*`` for any number; ``-`` if
  exported graphs do not have the operation.
- ``kind``: ``float`` is computed in floats, element by element of arrays that broadcast;
  ``bool`` gives booleans. The compiler fuses groups of both kinds. ``row``: row i of the
  result depends only on row i of the first argument, if the first axis is kept. ``-`` makes
  no claim and is always correct.
- ``onnx``: the operator of ONNX that computes the same from the same operands, element by
  element.

The rules, the shapes and the backends are found by this table. A name of a file or of a
backend that is wrong, a missing cell, or a second line of a name is an error at import.
`seqloom-graph`, which runs exported graphs, has a copy of ``results`` and ``kind``, with
the arguments of each operation: after a change of these, run ``make stubs``.
"""

from __future__ import annotations

from typing import NamedTuple


class OperationLine(NamedTuple):
    """A line of the table. A hyphen becomes an empty string."""

    default: str
    rule: str
    shape: str
    overrides: tuple[str, ...]  # names of backends
    results: str
    kind: str
    onnx: str


_TABLE = """
# operation           default     rule        shape       overrides   results
#                                                                     | kind  onnx
# Making arrays. Floats are of the backend's `float_dtype` unless a dtype is given.
asarray               -           -           elementwise all         1 -     -
empty                 -           -           -           all         1 -     -
zeros                 -           -           -           all         1 -     -
ones                  -           -           -           all         1 -     -
full                  -           -           -           all         1 -     -
arange                -           -           -           all         1 -     -
eye                   -           -           -           all         1 -     -
from_dlpack           -           -           -           all         - -     -
# Element types.
astype                -           elementwise elementwise all         1 float -
finfo                 -           -           -           all         - -     -
iinfo                 -           -           -           all         - -     -
isdtype               -           -           -           all         - -     -
result_type           -           -           -           all         - -     -
# One array, element by element.
negative              -           elementwise elementwise all         1 float Neg
abs                   -           elementwise elementwise all         1 float Abs
sign                  -           elementwise elementwise all         1 float Sign
exp                   -           elementwise elementwise all         1 float Exp
expm1                 -           elementwise elementwise all         1 float -
log                   -           elementwise elementwise all         1 float Log
log1p                 -           elementwise elementwise all         1 float -
sqrt                  -           elementwise elementwise all         1 float Sqrt
square                -           elementwise elementwise all         1 float -
reciprocal            -           elementwise elementwise all         1 float Reciprocal
sin                   -           elementwise elementwise all         1 float Sin
cos                   -           elementwise elementwise all         1 float Cos
tanh                  -           elementwise elementwise all         1 float Tanh
floor                 -           elementwise elementwise all         1 float Floor
ceil                  -           elementwise elementwise all         1 float Ceil
round                 -           elementwise elementwise all         1 float Round
isfinite              -           -           elementwise all         1 bool  -
isnan                 -           -           elementwise all         1 bool  IsNaN
logical_not           -           -           elementwise all         1 bool  Not
bitwise_invert        -           -           elementwise all         1 -     -
# Two arrays, element by element, broadcast.
add                   -           arithmetic  elementwise all         1 float Add
subtract              -           arithmetic  elementwise all         1 float Sub
multiply              -           arithmetic  elementwise all         1 float Mul
divide                -           arithmetic  elementwise all         1 float Div
floor_divide          -           -           elementwise all         1 -     -
remainder             -           arithmetic  elementwise all         1 float -
pow                   -           arithmetic  elementwise all         1 float Pow
maximum               -           arithmetic  elementwise all         1 float Max
minimum               -           arithmetic  elementwise all         1 float Min
atan2                 -           arithmetic  elementwise all         1 float -
logaddexp             -           arithmetic  elementwise all         1 -     -
equal                 -           -           elementwise all         1 bool  Equal
not_equal             -           -           elementwise all         1 bool  -
less                  -           -           elementwise all         1 bool  Less
less_equal            -           -           elementwise all         1 bool  LessOrEqual
greater               -           -           elementwise all         1 bool  Greater
greater_equal         -           -           elementwise all         1 bool  GreaterOrEqual
logical_and           -           -           elementwise all         1 bool  And
logical_or            -           -           elementwise all         1 bool  Or
bitwise_and           -           -           elementwise all         1 -     -
bitwise_or            -           -           elementwise all         1 -     -
bitwise_xor           -           -           elementwise all         1 -     -
bitwise_left_shift    -           -           elementwise all         1 -     -
bitwise_right_shift   -           -           elementwise all         1 -     -
# Choosing.
where                 -           arithmetic  elementwise all         1 float -
clip                  -           arithmetic  elementwise all         1 float -
# Over axes: ``axis=None`` is all of them, ``keepdims=True`` leaves them with length 1.
sum                   -           reductions  axes        all         1 row   -
mean                  -           reductions  axes        all         1 row   -
var                   -           reductions  axes        all         1 -     -
max                   -           reductions  axes        all         1 row   -
min                   -           reductions  axes        all         1 row   -
prod                  -           reductions  axes        all         1 -     -
any                   -           -           axes        all         1 -     -
all                   -           -           axes        all         1 -     -
argmax                -           -           axes        all         1 -     -
argmin                -           -           axes        all         1 -     -
count_nonzero         -           -           axes        all         1 -     -
cumulative_sum        -           reductions  axes        all         1 -     -
# Products.
matmul                -           products    layers      all         1 -     -
matrix_transpose      -           shapes      axes        all         1 -     -
tensordot             -           products    layers      all         1 -     -
# Shapes.
reshape               -           shapes      axes        all         1 row   -
permute_dims          -           shapes      axes        all         1 -     -
broadcast_to          -           shapes      axes        all         1 -     -
concat                -           shapes      axes        all         1 -     -
stack                 -           shapes      axes        all         1 -     -
expand_dims           -           shapes      axes        all         1 row   -
squeeze               -           shapes      axes        all         1 row   -
flip                  -           shapes      axes        all         1 -     -
roll                  -           shapes      axes        all         1 -     -
repeat                -           shapes      axes        all         1 -     -
tile                  -           shapes      axes        all         1 -     -
unstack               -           shapes      axes        all         * -     -
# Indexing, sorting and searching.
take                  -           indexing    indexing    all         1 -     -
take_along_axis       -           indexing    indexing    all         1 -     -
argsort               -           -           indexing    all         1 -     -
sort                  -           shapes      indexing    all         1 -     -
searchsorted          -           -           indexing    all         1 -     -
nonzero               -           -           -           all         - -     -
index                 index       indexing    indexing    all         1 -     -
# Operations with a default body: some of the standard, and seqloom's own.
relu                  activation  elementwise elementwise all         1 float Relu
relu_grad             activation  elementwise elementwise all         - float -
sigmoid               activation  elementwise elementwise all         1 float Sigmoid
sigmoid_grad          activation  elementwise elementwise numpy torch - float -
gelu                  activation  elementwise elementwise all         1 float -
gelu_grad             activation  -           elementwise all         - float -
silu                  activation  elementwise elementwise numpy torch 1 float -
softplus              activation  elementwise elementwise torch       1 float -
softmax               activation  norms       axes        all         1 -     -
softmax_grad          activation  -           axes        numpy torch - -     -
log_softmax           activation  norms       axes        all         1 -     -
log_softmax_grad      activation  -           axes        numpy torch - -     -
logsumexp             activation  reductions  axes        all         1 -     -
attention             attention   attention   layers      numpy torch 2 -     -
attention_grad        attention   -           layers      all         - -     -
batch_norm            batch_norm  norms       -           numpy torch 3 -     -
batch_norm_grad       batch_norm  -           -           numpy torch - -     -
scale_shift           batch_norm  norms       layers      numpy       1 row   -
conv1d                convolution windows     windows     all         1 row   -
conv2d                convolution windows     windows     all         1 row   -
conv1d_input_grad     convolution windows     windows     all         1 -     -
conv2d_input_grad     convolution windows     windows     all         1 -     -
conv1d_weight_grad    convolution windows     windows     all         - -     -
conv2d_weight_grad    convolution windows     windows     all         - -     -
conv_transpose1d      convolution -           windows     numpy torch 1 -     -
conv_transpose2d      convolution -           windows     numpy torch 1 -     -
feed_forward          dense       -           -           numpy       1 -     -
linear_by_row         dense       -           -           numpy       1 -     -
rotary_linear         dense       -           -           numpy       3 -     -
feed_forward_int8     int8        -           -           numpy torch - -     -
linear_int8           int8        -           -           numpy torch - -     -
rotary_linear_int8    int8        -           -           numpy torch - -     -
stop_gradient         derived     elementwise elementwise torch jax   1 -     Identity
accumulate            derived     -           -           numpy torch - -     -
rsqrt                 derived     elementwise elementwise torch jax   1 float -
positive              derived     -           elementwise all         1 -     Identity
isinf                 derived     -           elementwise all         1 -     IsInf
logical_xor           derived     -           elementwise all         1 -     Xor
tan                   derived     -           elementwise all         1 -     Tan
sinh                  derived     elementwise elementwise all         1 -     Sinh
cosh                  derived     elementwise elementwise all         1 -     Cosh
std                   derived     reductions  axes        numpy jax   1 -     -
moveaxis              derived     -           -           all         1 -     -
tril                  derived     -           -           all         1 -     -
triu                  derived     -           -           all         1 -     -
einsum                products    einsum      -           torch jax   - -     -
log2                  elementary  elementwise elementwise all         1 -     -
log10                 elementary  elementwise elementwise all         1 -     -
asin                  elementary  elementwise elementwise all         1 -     Asin
acos                  elementary  elementwise elementwise all         1 -     Acos
atan                  elementary  elementwise elementwise all         1 -     Atan
asinh                 elementary  elementwise elementwise all         1 -     Asinh
acosh                 elementary  elementwise elementwise all         1 -     Acosh
atanh                 elementary  elementwise elementwise all         1 -     Atanh
hypot                 elementary  arithmetic  elementwise all         1 -     -
trunc                 elementary  elementwise elementwise all         1 -     -
signbit               elementary  -           elementwise all         1 -     -
copysign              elementary  arithmetic  elementwise all         - -     -
nextafter             elementary  elementwise elementwise all         - -     -
vecdot                elementary  -           -           jax         - -     -
conj                  elementary  elementwise elementwise all         - -     -
real                  elementary  elementwise elementwise torch jax   - -     -
imag                  elementary  elementwise elementwise torch jax   - -     -
erf                   erf         elementwise elementwise all         1 float Erf
erfc                  erf         elementwise elementwise torch jax   1 -     -
scatter_add           lookup      indexing    indexing    all         - -     -
scatter_index         lookup      indexing    indexing    all         - -     -
slice_update          lookup      indexing    indexing    all         - -     -
slice_add             lookup      indexing    indexing    all         - -     -
put_along_axis        lookup      indexing    indexing    all         - -     -
embedding             lookup      indexing    -           all         1 -     -
embedding_grad        lookup      indexing    -           all         - -     -
cross_entropy         loss        losses      -           all         - -     -
cross_entropy_grad    loss        -           -           all         - -     -
empty_like            making      -           -           -           - -     -
zeros_like            making      -           -           -           - -     -
ones_like             making      -           -           -           - -     -
full_like             making      -           -           -           - -     -
linspace              making      -           -           -           - -     -
broadcast_arrays      making      -           -           -           - -     -
meshgrid              making      -           -           -           - -     -
layer_norm            norm        norms       -           numpy torch 3 -     -
layer_norm_grad       norm        -           -           all         - -     -
rms_norm              norm        norms       -           numpy torch 2 -     -
rms_norm_grad         norm        -           -           all         - -     -
adamw                 optimiser   -           layers      all         - -     -
sgd                   optimiser   -           layers      torch jax   - -     -
clip_by_global_norm   optimiser   -           layers      torch jax   - -     -
attention_varlen      packed      attention   layers      all         2 -     -
attention_varlen_grad packed      -           layers      all         - -     -
max_pool1d            pooling     windows     windows     numpy torch 2 row   -
max_pool2d            pooling     windows     windows     torch       - -     -
max_pool1d_grad       pooling     windows     windows     numpy torch - -     -
max_pool2d_grad       pooling     windows     windows     numpy torch - -     -
avg_pool1d            pooling     windows     windows     torch       - -     -
avg_pool2d            pooling     windows     windows     torch       - -     -
avg_pool1d_grad       pooling     windows     windows     torch       - -     -
avg_pool2d_grad       pooling     windows     windows     torch       - -     -
linear                products    products    layers      numpy torch 1 -     -
key_words             random      -           -           torch jax   - -     -
fold_in               random      -           elementwise all         - -     -
split                 random      -           elementwise all         - -     -
random_bits           random      -           elementwise all         - -     -
uniform               random      -           elementwise all         - -     -
normal                random      -           elementwise all         - -     -
truncated_normal      random      -           elementwise all         - -     -
bernoulli             random      -           elementwise all         - -     -
randint               random      -           -           all         - -     -
permutation           random      -           -           all         - -     -
dropout               random      losses      layers      numpy torch - -     -
scan                  recurrent   -           -           jax         - -     -
gru                   recurrent   recurrent   layers      all         3 -     -
gru_grad              recurrent_grad -        layers      all         - -     -
lstm                  recurrent   recurrent   layers      all         4 -     -
lstm_grad             recurrent_grad -        layers      all         - -     -
cumulative_prod       series      -           axes        all         - -     -
logcumsumexp          series      reductions  axes        all         - -     -
diff                  series      -           -           -           - -     -
unique_all            sets        -           -           -           - -     -
unique_counts         sets        -           -           -           - -     -
unique_inverse        sets        -           -           -           - -     -
unique_values         sets        -           -           -           - -     -
isin                  sets        -           -           all         - -     -
pad                   shape       shapes      axes        torch jax   1 -     -
spaced                shape       -           -           jax         - -     -
topk                  shape       indexing    indexing    jax         - -     -
one_hot               shape       -           indexing    torch jax   1 -     -
unfold                window      windows     windows     torch       - -     -
fold                  window      windows     windows     torch       - -     -
to_full_precision     backend     -           elementwise -           - -     Identity
"""


def _parse(line: str) -> OperationLine:
    """Reads one line of the table, without its name."""
    cells = ["" if cell == "-" else cell for cell in line.split()]
    if not _FEWEST <= len(cells) <= _MOST or cells[-2] not in _KINDS:
        raise ValueError(f"tensor/_operations.py: not a line of the table: {line}")
    default, rule, shape = (cell and f"_{cell}" for cell in cells[:3])
    overrides = ("numpy", "torch", "jax") if cells[3] == "all" else cells[3:-3]
    return OperationLine(default, rule, shape, tuple(filter(None, overrides)), *cells[-3:])


# Cells of a line after its name: with one backend, and with three.
_FEWEST, _MOST = 7, 9
_KINDS = {"", "float", "bool", "row"}
_LINES = [line for line in _TABLE.splitlines() if line and not line.startswith("#")]
OPERATIONS: dict[str, OperationLine] = {
    line.split()[0]: _parse(line.partition(" ")[2]) for line in _LINES
}
if len(OPERATIONS) < len(_LINES):
    raise ValueError("tensor/_operations.py: an operation has two lines")
