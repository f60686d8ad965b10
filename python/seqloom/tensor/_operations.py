"""Table of all operations, with their properties.

Each row describes one operation. ``family`` is the file in ``_families/`` that
implements the operation, without the leading underscore. The next three columns list
what the file contains:

- ``default``: the default implementation, a function with the name of the operation.
  An operation without a default belongs to the Array API standard, and each backend
  must implement it.
- ``rule``: the gradient rule, in ``GRAD_RULES``. An operation without a rule is
  differentiated through its default implementation, or has no gradient.
- ``shape``: the function in ``SHAPE_RULES`` that computes shape and dtype of the result in
  a captured step. Operations without such a function run their default implementation on
  symbolic arrays. A shape function is needed if the default implementation returns a
  different dtype than a backend, is slow, or raises a less clear error.

The remaining columns are:

- ``overrides``: the backends that override the default; ``all`` means NumPy, PyTorch and
  JAX. The NumPy function is in the family file: either a function with the prefix
  ``numpy_``, or an entry of ``LIBRARY_FUNCTIONS``. The functions of PyTorch and JAX are in
  ``backends/``.
- ``results``: the number of results in an exported graph, or ``*`` for any number. The
  value ``-`` means that exported graphs cannot contain the operation.
- ``kind``: a ``float`` operation is elementwise and computes in floats, with
  broadcasting; a ``bool`` operation is elementwise and returns booleans. The compiler
  fuses ``float`` and ``bool`` operations. In a ``row`` operation that keeps the first
  axis, row i of the result depends only on row i of the first argument. The value ``-``
  is allowed for every operation.
- ``onnx``: the ONNX operator that computes the same elementwise function.

The package finds rules, shapes and NumPy functions through this table. An unknown file
or backend, a missing cell or a duplicate row raises an error at import.
`seqloom-graph`, which runs exported graphs, has a copy of ``results``, ``kind`` and the
arguments of each operation. After a change of these columns or of arguments, run
``make stubs``.
"""

from __future__ import annotations

from typing import NamedTuple


class OperationLine(NamedTuple):
    """One row of the table of operations. A hyphen in the table becomes an empty string."""

    family: str
    has_default: bool
    has_rule: bool
    has_shape: bool
    overrides: tuple[str, ...]
    results: str
    kind: str
    onnx: str


_TABLE = """
# operation           family           default rule shape overrides   results
#                                                                      | kind  onnx
# Array creation. Floats have the backend's `float_dtype` unless a dtype is given.
asarray               creation         -       -    shape all         1 -     -
empty                 creation         -       -    -     all         1 -     -
zeros                 creation         -       -    -     all         1 -     -
ones                  creation         -       -    -     all         1 -     -
full                  creation         -       -    -     all         1 -     -
arange                creation         -       -    -     all         1 -     -
eye                   creation         -       -    -     all         1 -     -
from_dlpack           creation         -       -    -     all         - -     -
# Element types.
astype                creation         -       rule shape all         1 float -
finfo                 creation         -       -    -     all         - -     -
iinfo                 creation         -       -    -     all         - -     -
isdtype               creation         -       -    -     all         - -     -
result_type           creation         -       -    -     all         - -     -
# Elementwise, one array.
negative              unary            -       rule shape all         1 float Neg
abs                   unary            -       rule shape all         1 float Abs
sign                  unary            -       rule shape all         1 float Sign
exp                   unary            -       rule shape all         1 float Exp
expm1                 unary            -       rule shape all         1 float -
log                   unary            -       rule shape all         1 float Log
log1p                 unary            -       rule shape all         1 float -
sqrt                  unary            -       rule shape all         1 float Sqrt
square                unary            -       rule shape all         1 float -
reciprocal            unary            -       rule shape all         1 float Reciprocal
sin                   unary            -       rule shape all         1 float Sin
cos                   unary            -       rule shape all         1 float Cos
tanh                  unary            -       rule shape all         1 float Tanh
floor                 unary            -       rule shape all         1 float Floor
ceil                  unary            -       rule shape all         1 float Ceil
round                 unary            -       rule shape all         1 float Round
isfinite              unary            -       -    shape all         1 bool  -
isnan                 unary            -       -    shape all         1 bool  IsNaN
logical_not           unary            -       -    shape all         1 bool  Not
bitwise_invert        unary            -       -    shape all         1 -     -
# Elementwise with broadcasting, two arrays.
add                   binary           -       rule shape all         1 float Add
subtract              binary           -       rule shape all         1 float Sub
multiply              binary           -       rule shape all         1 float Mul
divide                binary           -       rule shape all         1 float Div
floor_divide          binary           -       -    shape all         1 -     -
remainder             binary           -       rule shape all         1 float -
pow                   binary           -       rule shape all         1 float Pow
maximum               binary           -       rule shape all         1 float Max
minimum               binary           -       rule shape all         1 float Min
atan2                 binary           -       rule shape all         1 float -
logaddexp             binary           -       rule shape all         1 -     -
equal                 binary           -       -    shape all         1 bool  Equal
not_equal             binary           -       -    shape all         1 bool  -
less                  binary           -       -    shape all         1 bool  Less
less_equal            binary           -       -    shape all         1 bool  LessOrEqual
greater               binary           -       -    shape all         1 bool  Greater
greater_equal         binary           -       -    shape all         1 bool  GreaterOrEqual
logical_and           binary           -       -    shape all         1 bool  And
logical_or            binary           -       -    shape all         1 bool  Or
bitwise_and           binary           -       -    shape all         1 -     -
bitwise_or            binary           -       -    shape all         1 -     -
bitwise_xor           binary           -       -    shape all         1 -     -
bitwise_left_shift    binary           -       -    shape all         1 -     -
bitwise_right_shift   binary           -       -    shape all         1 -     -
# Elementwise selection.
where                 binary           -       rule shape all         1 float -
clip                  binary           -       rule shape all         1 float -
# Reductions over axes; ``axis=None`` reduces all axes, and ``keepdims=True`` keeps them.
sum                   reductions       -       rule shape all         1 row   -
mean                  reductions       -       rule shape all         1 row   -
var                   reductions       -       rule shape all         1 -     -
max                   reductions       -       rule shape all         1 row   -
min                   reductions       -       rule shape all         1 row   -
prod                  reductions       -       rule shape all         1 -     -
any                   reductions       -       -    shape all         1 -     -
all                   reductions       -       -    shape all         1 -     -
argmax                reductions       -       -    shape all         1 -     -
argmin                reductions       -       -    shape all         1 -     -
count_nonzero         reductions       -       -    shape all         1 -     -
cumulative_sum        reductions       -       rule shape all         1 -     -
# Products.
matmul                products         -       rule shape all         1 -     -
matrix_transpose      shapes           -       rule shape all         1 -     -
tensordot             products         -       rule shape all         1 -     -
# Shapes.
reshape               shapes           -       rule shape all         1 row   -
permute_dims          shapes           -       rule shape all         1 -     -
broadcast_to          shapes           -       rule shape all         1 -     -
concat                joining          -       rule shape all         1 -     -
stack                 joining          -       rule shape all         1 -     -
expand_dims           shapes           -       rule shape all         1 row   -
squeeze               shapes           -       rule shape all         1 row   -
flip                  shapes           -       rule shape all         1 -     -
roll                  shapes           -       rule shape all         1 -     -
repeat                joining          -       rule shape all         1 -     -
tile                  joining          -       rule shape all         1 -     -
unstack               joining          -       rule shape all         * -     -
# Indexing, sorting and searching.
take                  indexing         -       rule shape all         1 -     -
take_along_axis       indexing         -       rule shape all         1 -     -
argsort               shapes           -       -    shape all         1 -     -
sort                  shapes           -       rule shape all         1 -     -
searchsorted          shapes           -       -    shape all         1 -     -
nonzero               indexing         -       -    -     all         - -     -
index                 indexing         default rule shape all         1 -     -
# Operations with a default implementation.
relu                  activations      default rule shape all         1 float Relu
relu_grad             activations      default rule shape all         - float -
sigmoid               activations      default rule shape all         1 float Sigmoid
sigmoid_grad          activations      default rule shape numpy torch - float -
gelu                  activations      default rule shape all         1 float -
gelu_grad             activations      default -    shape all         - float -
silu                  activations      default rule shape numpy torch 1 float -
softplus              activations      default rule shape torch       1 float -
softmax               activations      default rule shape all         1 -     -
softmax_grad          activations      default -    shape numpy torch - -     -
log_softmax           activations      default rule shape all         1 -     -
log_softmax_grad      activations      default -    shape numpy torch - -     -
logsumexp             activations      default rule shape all         1 -     -
attention             attention        default rule shape numpy torch 2 -     -
attention_grad        attention        default -    shape all         - -     -
batch_norm            norms            default rule -     numpy torch 3 -     -
batch_norm_grad       norms            default -    -     numpy torch - -     -
scale_shift           norms            default rule shape numpy       1 row   -
conv1d                convolutions     default rule shape all         1 row   -
conv2d                convolutions     default rule shape all         1 row   -
conv1d_input_grad     convolutions     default rule shape all         1 -     -
conv2d_input_grad     convolutions     default rule shape all         1 -     -
conv1d_weight_grad    convolutions     default rule shape all         - -     -
conv2d_weight_grad    convolutions     default rule shape all         - -     -
conv_transpose1d      convolutions     default -    shape numpy torch 1 -     -
conv_transpose2d      convolutions     default -    shape numpy torch 1 -     -
feed_forward          linear_layers    default -    -     numpy       1 -     -
linear_by_row         linear_layers    default -    -     numpy       1 -     -
rotary_linear         linear_layers    default -    -     numpy       3 -     -
feed_forward_int8     linear_layers    default -    -     numpy torch - -     -
linear_int8           linear_layers    default -    -     numpy torch - -     -
rotary_linear_int8    linear_layers    default -    -     numpy torch - -     -
stop_gradient         unary            default rule shape torch jax   1 -     Identity
accumulate            binary           default -    -     numpy torch - -     -
rsqrt                 unary            default rule shape torch jax   1 float -
positive              unary            default -    shape all         1 -     Identity
isinf                 unary            default -    shape all         1 -     IsInf
logical_xor           binary           default -    shape all         1 -     Xor
tan                   unary            default -    shape all         1 -     Tan
sinh                  unary            default rule shape all         1 -     Sinh
cosh                  unary            default rule shape all         1 -     Cosh
std                   reductions       default rule shape numpy jax   1 -     -
moveaxis              shapes           default -    -     all         1 -     -
tril                  shapes           default -    -     all         1 -     -
triu                  shapes           default -    -     all         1 -     -
einsum                einsum           default rule -     torch jax   - -     -
log2                  unary            default rule shape all         1 -     -
log10                 unary            default rule shape all         1 -     -
asin                  unary            default rule shape all         1 -     Asin
acos                  unary            default rule shape all         1 -     Acos
atan                  unary            default rule shape all         1 -     Atan
asinh                 unary            default rule shape all         1 -     Asinh
acosh                 unary            default rule shape all         1 -     Acosh
atanh                 unary            default rule shape all         1 -     Atanh
hypot                 binary           default rule shape all         1 -     -
trunc                 unary            default rule shape all         1 -     -
signbit               unary            default -    shape all         1 -     -
copysign              binary           default rule shape all         - -     -
nextafter             binary           default rule shape all         - -     -
vecdot                products         default -    -     jax         - -     -
conj                  unary            default rule shape all         - -     -
real                  unary            default rule shape torch jax   - -     -
imag                  unary            default rule shape torch jax   - -     -
erf                   error_function   default rule shape all         1 float Erf
erfc                  error_function   default rule shape torch jax   1 -     -
scatter_add           scattering       default rule shape all         - -     -
scatter_index         scattering       default rule shape all         - -     -
slice_update          scattering       default rule shape all         - -     -
slice_add             scattering       default rule shape all         - -     -
put_along_axis        scattering       default rule shape all         - -     -
embedding             indexing         default rule -     all         1 -     -
embedding_grad        indexing         default rule -     all         - -     -
cross_entropy         training         default rule -     all         - -     -
cross_entropy_grad    training         default -    -     all         - -     -
empty_like            creation         default -    -     -           - -     -
zeros_like            creation         default -    -     -           - -     -
ones_like             creation         default -    -     -           - -     -
full_like             creation         default -    -     -           - -     -
linspace              creation         default -    -     -           - -     -
broadcast_arrays      creation         default -    -     -           - -     -
meshgrid              creation         default -    -     -           - -     -
layer_norm            norms            default rule -     numpy torch 3 -     -
layer_norm_grad       norms            default -    -     all         - -     -
rms_norm              norms            default rule -     numpy torch 2 -     -
rms_norm_grad         norms            default -    -     all         - -     -
adamw                 training         default -    shape all         - -     -
sgd                   training         default -    shape torch jax   - -     -
clip_by_global_norm   training         default -    shape torch jax   - -     -
attention_varlen      packed_attention default rule shape all         2 -     -
attention_varlen_grad packed_attention default -    shape all         - -     -
max_pool1d            pooling          default rule shape numpy torch 2 row   -
max_pool2d            pooling          default rule shape torch       - -     -
max_pool1d_grad       pooling          default rule shape numpy torch - -     -
max_pool2d_grad       pooling          default rule shape numpy torch - -     -
avg_pool1d            pooling          default rule shape torch       - -     -
avg_pool2d            pooling          default rule shape torch       - -     -
avg_pool1d_grad       pooling          default rule shape torch       - -     -
avg_pool2d_grad       pooling          default rule shape torch       - -     -
linear                products         default rule shape numpy torch 1 -     -
key_words             keys             default -    -     torch jax   - -     -
fold_in               keys             default -    shape all         - -     -
split                 keys             default -    shape all         - -     -
random_bits           keys             default -    shape all         - -     -
uniform               random           default -    shape all         - -     -
normal                random           default -    shape all         - -     -
truncated_normal      random           default -    shape all         - -     -
bernoulli             random           default -    shape all         - -     -
randint               random           default -    -     all         - -     -
permutation           random           default -    -     all         - -     -
dropout               random           default rule shape numpy torch - -     -
scan                  recurrent        default -    -     jax         - -     -
gru                   recurrent        default rule shape all         3 -     -
gru_grad              recurrent_grad   default -    shape all         - -     -
lstm                  recurrent        default rule shape all         4 -     -
lstm_grad             recurrent_grad   default -    shape all         - -     -
cumulative_prod       reductions       default -    shape all         - -     -
logcumsumexp          reductions       default rule shape all         - -     -
diff                  reductions       default -    -     -           - -     -
unique_all            shapes           default -    -     -           - -     -
unique_counts         shapes           default -    -     -           - -     -
unique_inverse        shapes           default -    -     -           - -     -
unique_values         shapes           default -    -     -           - -     -
isin                  shapes           default -    -     all         - -     -
pad                   joining          default rule shape torch jax   1 -     -
spaced                joining          default -    -     jax         - -     -
topk                  shapes           default rule shape jax         - -     -
one_hot               shapes           default -    shape torch jax   1 -     -
unfold                windows          default rule shape torch       - -     -
fold                  windows          default rule shape torch       - -     -
to_full_precision     creation         default -    shape -           - -     Identity
"""


def parse_table_line(line: str) -> OperationLine:
    """Parse one row of the table, without the name of the operation."""
    family, *cells = ["" if cell == "-" else cell for cell in line.split()]
    parts, last = cells[:3], cells[-3:]
    has_all = _MIN_TABLE_CELLS <= len(cells) <= _MAX_TABLE_CELLS and last[1] in _KIND_NAMES
    if not has_all or any(
        part not in {"", name} for part, name in zip(parts, _FLAG_NAMES, strict=True)
    ):
        raise ValueError(f"tensor/_operations.py: not a line of the table: {line}")
    default, rule, shape = map(bool, parts)
    overrides = ("numpy", "torch", "jax") if cells[3] == "all" else cells[3:-3]
    overrides = tuple(filter(None, overrides))
    return OperationLine(family, default, rule, shape, overrides, *last)


# Minimum and maximum number of columns after the family, with one and three backends.
_MIN_TABLE_CELLS, _MAX_TABLE_CELLS = 7, 9
_FLAG_NAMES = ("default", "rule", "shape")
_KIND_NAMES = {"", "float", "bool", "row"}
_TABLE_LINES = [line for line in _TABLE.splitlines() if line and not line.startswith("#")]
OPERATIONS: dict[str, OperationLine] = {
    line.split()[0]: parse_table_line(line.partition(" ")[2]) for line in _TABLE_LINES
}
if len(OPERATIONS) < len(_TABLE_LINES):
    raise ValueError("tensor/_operations.py: an operation has two lines")


def list_family(family: str, backend: str = "") -> set[str]:
    """Return the operations of a family, or only those that a backend overrides."""
    return {
        name
        for name, line in OPERATIONS.items()
        if line.family == family and (not backend or backend in line.overrides)
    }
