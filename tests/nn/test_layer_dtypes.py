"""Layers accept one float dtype on every backend; another dtype is an error."""

import copy
from typing import Any

import numpy as np
import pytest
import torch

import seqloom as sl
from backend_oracle import found
from seqloom.errors import DTypeError, ShapeError

F, KEY = sl.nn.functional, sl.Key(0)
FOR_EACH_LIBRARY = pytest.mark.parametrize("name", ["numpy", "torch", "jax"])
FOR_EAGER_AND_COMPILED = pytest.mark.parametrize(
    "compiled", [False, True], ids=["eager", "compiled"]
)
DTYPES_EXCEPT_FLOAT32 = [
    "bool",
    "uint8",
    "int8",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float64",
]
LAYERS_WITH_INPUT_DTYPE = {  # name: (shapes of x, weight and bias, function)
    "linear": ((2, 3), (4, 3), (4,), F.linear),
    "conv1d": ((2, 3, 6), (4, 3, 2), (4,), F.conv1d),
    "conv2d": ((2, 3, 6, 6), (4, 3, 2, 2), (4,), F.conv2d),
    "conv_transpose1d": ((2, 3, 6), (3, 4, 2), (4,), F.conv_transpose1d),
    "conv_transpose2d": ((2, 3, 6, 6), (3, 4, 2, 2), (4,), F.conv_transpose2d),
    "layer_norm": ((2, 3), (3,), (3,), lambda x, w, b: F.layer_norm(x, (3,), w, b)),
    "rms_norm": ((2, 3), (3,), (3,), lambda x, w, _: F.rms_norm(x, (3,), w)),
    "batch_norm": ((2, 3, 4), (3,), (3,), lambda x, w, b: F.batch_norm(x, w, b)[0]),
}


def make_ones(b, shape, kind="float32"):
    ones = np.ones(shape, "f4" if kind == "bfloat16" else kind)
    return b.tensor(ones, dtype=kind if kind == "bfloat16" else None)


def call_with(call, args, *, compiled):
    """Return the result of a function, eager or compiled."""
    run: Any = sl.tensor.compile(call) if compiled else call
    return run(*args)


def rejected_dtypes(name):
    """Return the dtypes that are rejected; JAX has no float64 here."""
    return [kind for kind in DTYPES_EXCEPT_FLOAT32 if (name, kind) != ("jax", "float64")]


@FOR_EACH_LIBRARY
@FOR_EAGER_AND_COMPILED
@pytest.mark.parametrize("function", LAYERS_WITH_INPUT_DTYPE)
def test_a_layer_rejects_every_dtype_but_that_of_its_weight(function, compiled, name):
    x, weight, bias, call = LAYERS_WITH_INPUT_DTYPE[function]
    b = found(name)
    for kind in rejected_dtypes(name):
        args = make_ones(b, x, kind), make_ones(b, weight), make_ones(b, bias)
        expected = rf"{function}: x holds \w+, expected float32, .*weight.*x\.astype"
        with pytest.raises(DTypeError, match=expected):
            call_with(call, args, compiled=compiled)


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
@FOR_EAGER_AND_COMPILED
@pytest.mark.parametrize("function", LAYERS_WITH_INPUT_DTYPE)
def test_a_half_precision_layer_keeps_its_dtype(function, compiled, kind):
    x, weight, bias, call = LAYERS_WITH_INPUT_DTYPE[function]
    b = found("numpy")
    args = make_ones(b, x, kind), make_ones(b, weight, kind), make_ones(b, bias, kind)
    out = call_with(call, args, compiled=compiled)
    wide = call(make_ones(b, x), make_ones(b, weight), make_ones(b, bias)).numpy()
    assert out.dtype.name == kind
    np.testing.assert_allclose(out.numpy().astype("f4"), wide, rtol=0.02, atol=0.02)


@FOR_EACH_LIBRARY
def test_a_bias_of_another_type_is_named(name):
    b = found(name)
    with pytest.raises(DTypeError, match=r"bias holds float16, expected float32"):
        F.linear(make_ones(b, (2, 3)), make_ones(b, (4, 3)), make_ones(b, (4,), "float16"))


LAYERS_AND_SHAPES = {
    "Linear": (sl.nn.Linear(3, 2), (2, 3)),
    "Conv1d": (sl.nn.Conv1d(3, 2, 2), (2, 3, 4)),
    "LayerNorm": (sl.nn.LayerNorm(3), (2, 3)),
    "RMSNorm": (sl.nn.RMSNorm(3), (2, 3)),
    "BatchNorm1d": (sl.nn.BatchNorm1d(3), (2, 3, 4)),
    "SelfAttention": (sl.nn.SelfAttention(4, 2), (1, 3, 4)),
}
INPUT_DTYPES = ["uint8", "int32", "float16"]


@FOR_EACH_LIBRARY
@FOR_EAGER_AND_COMPILED
@pytest.mark.parametrize("layer", LAYERS_AND_SHAPES)
@pytest.mark.parametrize("kind", INPUT_DTYPES)
def test_modules_reject_another_dtype_in_training_and_evaluation(
    kind, layer, compiled, name
):
    module, shape = LAYERS_AND_SHAPES[layer]
    module = copy.deepcopy(module).bind(found(name), KEY)
    x = make_ones(module.backend, shape, kind)
    for each in (module.train(), module.eval()):
        with pytest.raises(DTypeError, match=r"x holds .*x\.astype\(.float32.\)"):
            call_with(lambda module, x: module(x), (each, x), compiled=compiled)


@FOR_EACH_LIBRARY
@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("kind", ["int32", "bool", "float16"])
def test_attention_needs_a_single_dtype(kind, place, name):
    b = found(name)
    kinds = ["float32"] * 3
    kinds[place] = kind
    dense = [make_ones(b, (1, 1, 3, 2), each) for each in kinds]
    packed = [make_ones(b, (3, 1, 2), each) for each in kinds]
    with pytest.raises(DTypeError, match=r"attention: (query|key|value) holds"):
        F.scaled_dot_product_attention(*dense)
    with pytest.raises(DTypeError, match=r"attention_varlen: (query|key|value) holds"):
        F.attention_varlen(*packed, [0, 3], 3)


ROW, SCORES = (1, 2, 4), (2, 4)
FLOAT_FUNCTIONS = {
    "layer_norm": (SCORES, lambda x: F.layer_norm(x, (4,))),
    "rms_norm": (SCORES, lambda x: F.rms_norm(x, (4,))),
    "gelu": (SCORES, F.gelu),
    "gelu of tanh": (SCORES, lambda x: F.gelu(x, "tanh")),
    "glu": (SCORES, F.glu),
    "silu": (SCORES, F.silu),
    "softplus": (SCORES, F.softplus),
    "softmax": (SCORES, F.softmax),
    "log_softmax": (SCORES, F.log_softmax),
    "dropout": (SCORES, lambda x: F.dropout(x, 0.5, KEY)),
    "normalize": (SCORES, F.normalize),
    "cosine_similarity": (SCORES, lambda x: F.cosine_similarity(x, np.ones(SCORES))),
    "avg_pool1d": (ROW, lambda x: F.avg_pool1d(x, 2)),
    "avg_pool2d": ((1, 2, 4, 4), lambda x: F.avg_pool2d(x, 2)),
    "interpolate": (ROW, lambda x: F.interpolate(x, scale_factor=2, mode="linear")),
    "cross_entropy": (SCORES, lambda x: F.cross_entropy(x, [0, 1])),
    "nll_loss": (SCORES, lambda x: F.nll_loss(x, [0, 1])),
    "mse_loss": (SCORES, lambda x: F.mse_loss(x, np.full(SCORES, 0.5))),
    "l1_loss": (SCORES, lambda x: F.l1_loss(x, np.full(SCORES, 0.5))),
    "smooth_l1_loss": (SCORES, lambda x: F.smooth_l1_loss(x, np.full(SCORES, 0.5))),
    "kl_div": (SCORES, lambda x: F.kl_div(x, np.full(SCORES, 0.5))),
    "poisson_nll_loss": (SCORES, lambda x: F.poisson_nll_loss(x, np.ones(SCORES))),
    "binary_cross_entropy": (SCORES, lambda x: F.binary_cross_entropy(x, np.ones(SCORES))),
    "binary_cross_entropy_with_logits": (
        SCORES,
        lambda x: F.binary_cross_entropy_with_logits(x, np.ones(SCORES)),
    ),
}


@FOR_EACH_LIBRARY
@pytest.mark.parametrize("function", FLOAT_FUNCTIONS)
def test_integers_are_rejected_by_float_functions(function, name):
    shape, call = FLOAT_FUNCTIONS[function]
    for kind in ("bool", "uint8", "int64"):
        x = make_ones(found(name), shape, kind)
        with pytest.raises(DTypeError, match=r"x1? holds \w+, expected floats; .*astype"):
            call(x)
        with pytest.raises(DTypeError, match="expected floats"):
            sl.tensor.compile(call)(x)


@FOR_EACH_LIBRARY
@pytest.mark.parametrize("kind", ["uint8", "int32", "int64"])
def test_integer_inputs_behave_like_in_pytorch_on_every_backend(kind, name):
    values = np.array([[[[3, 0, 7], [2, 9, 4], [1, 5, 8]]]])
    whole = torch.tensor(values, dtype=getattr(torch, kind))
    floats = whole.float()  # Several elements equal the maximum.
    x = found(name).tensor(values.astype(kind))
    theirs = torch.nn.functional
    pairs = {
        "relu": (F.relu(x), theirs.relu(whole)),
        "sigmoid": (F.sigmoid(x), torch.sigmoid(whole)),
        "max_pool1d": (F.max_pool1d(x[0], 2, 1, 1), theirs.max_pool1d(floats[0], 2, 1, 1)),
        "max_pool2d": (F.max_pool2d(x, 2, 1, 1), theirs.max_pool2d(floats, 2, 1, 1)),
    }
    for mine, their in pairs.values():
        np.testing.assert_allclose(mine.numpy(), their.numpy(), rtol=1e-6)


@FOR_EACH_LIBRARY
def test_relu_and_max_pooling_reject_booleans(name):
    x = make_ones(found(name), (1, 2, 4, 4), "bool")
    for call in (F.relu, lambda x: F.max_pool1d(x[0], 2), lambda x: F.max_pool2d(x, 2)):
        with pytest.raises(DTypeError, match="x holds bool, expected numbers"):
            call(x)


@FOR_EACH_LIBRARY
def test_an_embedding_accepts_every_integer_dtype_and_no_other_dtype(name):
    b = found(name)
    table = b.tensor(np.arange(6, dtype="f4").reshape(3, 2))
    for kind in ("uint8", "int8", "int16", "int32", "int64"):
        ids = b.tensor(np.array([2, 0], kind))
        assert F.embedding(ids, table).tolist() == [[4, 5], [0, 1]]
    for kind in ("bool", "float32"):
        with pytest.raises(DTypeError, match=r"x holds \w+, expected integers"):
            F.embedding(b.tensor(np.array([1, 0], kind)), table)


@FOR_EACH_LIBRARY
def test_numpy_inputs_must_have_the_dtype_of_the_weight(name):
    weight = found(name).tensor(np.ones((1, 2), "f4"))
    assert F.linear(np.ones((1, 2), "f4"), weight).tolist() == [[2.0]]
    with pytest.raises(DTypeError, match="x holds float64, expected float32"):
        F.linear(np.ones((1, 2)), weight)


@FOR_EACH_LIBRARY
def test_a_one_dimensional_weight_gives_one_output_like_in_pytorch(name):
    rng = np.random.default_rng(0)
    x, weight = rng.normal(size=(2, 3)).astype("f4"), rng.normal(size=3).astype("f4")
    b = found(name)
    theirs = torch.nn.functional.linear(torch.tensor(x), torch.tensor(weight))
    ours = F.linear(b.tensor(x), b.tensor(weight))
    np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-5)
    more = F.linear(b.tensor(x), b.tensor(weight), b.tensor(np.float32(1)))
    np.testing.assert_allclose(more.numpy(), theirs + 1, rtol=1e-5)


@FOR_EACH_LIBRARY
@pytest.mark.parametrize("shapes", [((3,), (1,)), ((1, 1, 3), ()), ((), ())], ids=str)
def test_a_weight_of_another_rank_is_rejected(shapes, name):
    b = found(name)
    with pytest.raises(ShapeError, match=r"linear: expected a weight of shape \(out, in\)"):
        F.linear(make_ones(b, (2, 3)), make_ones(b, shapes[0]), make_ones(b, shapes[1]))


@FOR_EACH_LIBRARY
@pytest.mark.parametrize("shape", [(1, 2), (1, 2, 1)], ids=str)
def test_batch_norm_rejects_one_value_per_channel_like_pytorch(shape, name):
    with pytest.raises(ValueError, match="more than 1 value"):
        torch.nn.BatchNorm1d(2)(torch.ones(shape))
    module = sl.nn.BatchNorm1d(2).bind(found(name), KEY)
    x = make_ones(module.backend, shape)
    with pytest.raises(
        ShapeError, match=r"more than 1 value .*Batches.*drop_last=True.*model\.eval\(\)"
    ):
        module(x)
    with pytest.raises(ShapeError, match="more than 1 value"):
        sl.tensor.compile(lambda module, x: module(x))(module, x)
    assert module.eval()(x).shape == shape


@FOR_EACH_LIBRARY
@pytest.mark.parametrize("shape", [(0, 2, 3), (2, 2, 1), (1, 2, 2)], ids=str)
def test_batch_norm_of_small_batches_equals_pytorch(shape, name):
    values = np.arange(np.prod(shape), dtype="f4").reshape(shape)
    module = sl.nn.BatchNorm1d(2).bind(found(name), KEY)
    theirs = torch.nn.BatchNorm1d(2)(torch.tensor(values)).detach()
    ours = module(module.backend.tensor(values)).numpy()
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_a_network_trains_on_a_last_batch_with_one_value_per_channel():
    config = sl.models.SequenceCNNConfig(
        channels=5, outputs=2, length=1, inputs="counts", widths=(4,), kernel_size=1
    )
    model = config.init("numpy", KEY)
    x = model.backend.tensor(np.arange(5, dtype="f4")[None])
    follow = sl.nn.value_and_grad(lambda model: (model.logits(x, key=KEY) ** 2).sum())
    loss, grads = follow(model)
    assert np.isfinite(loss.item())
    assert np.isfinite(grads.wrt(model.reader.norm.weight).numpy()).all()
