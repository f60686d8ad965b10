"""Tests of ONNX files as modules: names, arguments, records and unsupported files."""

import numpy as np
import pytest

import seqloom as sl
from onnx_graphs import floats, node, save
from seqloom.errors import ArgumentError, OperationError, ShapeError

pytest.importorskip("onnx")

DNA_ENCODER = sl.encode.OneHot("dna")


def classifier(path, *, length=8):
    """Write a classifier of one-hot encoded sequences of one length."""
    nodes = [
        node("Conv", "x conv/weight conv/bias", ("a",), pads=[1, 1]),
        node("Relu", "a", ("b",)),
        node("Flatten", "b", ("c",)),
        node("Gemm", "c onnx::Gemm_12 head.bias", ("d",), transB=1),
        node("Softmax", "d"),
    ]
    weights = {
        "conv/weight": floats(5, 4, 3),
        "conv/bias": floats(5),
        "onnx::Gemm_12": floats(2, 5 * length),
        "head.bias": floats(2),
    }
    x = {"x": np.zeros((1, 4, length), np.float32)}
    return save(path / "net.onnx", nodes, x, weights=weights)


def test_parameters_of_an_onnx_network_have_the_names_in_the_file(tmp_path):
    net = sl.models.from_onnx(classifier(tmp_path))
    shapes = {path: it.shape for path, it in net.parameters()}
    assert shapes == {
        "conv.weight": (5, 4, 3),
        "conv.bias": (5,),
        "onnx.Gemm_12": (2, 40),
        "head.bias": (2,),
    }


def test_a_numeric_weight_name_is_prefixed_with_the_operator(tmp_path):
    nodes = [node("MatMul", "x 12")]
    file = save(
        tmp_path / "a.onnx", nodes, {"x": floats(2, 3)}, weights={"12": floats(3, 4)}
    )
    assert [path for path, _ in sl.models.from_onnx(file).parameters()] == ["MatMul_12"]


def test_a_weight_name_that_clashes_with_an_attribute_gets_a_suffix(tmp_path):
    nodes = [node("MatMul", "x graph")]
    weights = {"graph": floats(3, 4)}
    file = save(tmp_path / "a.onnx", nodes, {"x": floats(2, 3)}, weights=weights)
    net = sl.models.from_onnx(file)
    assert [path for path, _ in net.parameters()] == ["graph_2"]
    np.testing.assert_allclose(net(np.eye(3, dtype="f4")).numpy(), weights["graph"])


def test_a_weight_that_two_nodes_share_is_one_parameter(tmp_path):
    nodes = [node("MatMul", "x w", ("a",)), node("MatMul", "a w")]
    file = save(
        tmp_path / "a.onnx", nodes, {"x": floats(2, 3)}, weights={"w": floats(3, 3)}
    )
    net = sl.models.from_onnx(file)
    assert net.number_of_parameters == 9
    net.parameters()[0][1].assign(np.eye(3) * 2)
    np.testing.assert_allclose(net(floats(2, 3)).numpy(), floats(2, 3) * 4)


def test_running_averages_are_buffers_and_single_numbers_are_constants(tmp_path):
    nodes = [
        node("BatchNormalization", "x s b m v", ("a",)),
        node("Mul", "a half"),
    ]
    weights = {name: floats(3) ** 2 for name in "sbmv"} | {"half": np.float32(0.5)}
    file = save(tmp_path / "a.onnx", nodes, {"x": floats(2, 3, 4)}, weights=weights)
    net = sl.models.from_onnx(file)
    assert [path for path, _ in net.parameters()] == ["s", "b"]
    assert [path for path, _ in net.named(sl.nn.Buffer)] == ["m", "v"]


def test_the_argument_output_selects_a_value_before_the_last_softmax(tmp_path):
    file = classifier(tmp_path)
    x = DNA_ENCODER.batch(["ACGTACGT", "GGGGCCCC"])
    logits = sl.models.from_onnx(file, output="d").logits(x).numpy()
    powers = np.exp(logits)
    scores = sl.models.from_onnx(file).logits(x).numpy()
    np.testing.assert_allclose(powers / powers.sum(1, keepdims=True), scores, rtol=1e-5)


def test_an_unknown_output_name_is_an_error(tmp_path):
    with pytest.raises(ArgumentError, match="no node of this file computes output='z'"):
        sl.models.from_onnx(classifier(tmp_path), output="z")


def test_records_of_other_lengths_are_truncated_and_padded(tmp_path):
    net = sl.models.from_onnx(classifier(tmp_path), encoder=DNA_ENCODER, length=8)
    long = net.logits(DNA_ENCODER.batch(["ACGTACGTTT"])).numpy()
    np.testing.assert_array_equal(long, net.logits(DNA_ENCODER.batch(["ACGTACGT"])).numpy())
    short = net.logits(DNA_ENCODER.batch(["ACGT"])).numpy()
    np.testing.assert_array_equal(
        short, net.logits(DNA_ENCODER.batch(["ACGTNNNN"])).numpy()
    )
    assert (net.length, net.crop, net.pair) == (8, "pad", None)


def test_padding_without_a_mask_input_is_an_error(tmp_path):
    nodes = [node("GlobalMaxPool", "x", ("p",)), node("Flatten", "p")]
    file = save(tmp_path / "a.onnx", nodes, {"x": np.zeros((1, 4, 3), np.float32)})
    net = sl.models.from_onnx(file, encoder=DNA_ENCODER)
    x, mask = DNA_ENCODER.batch(["ACGT", "AC"], length=4), np.arange(4) < [[4], [2]]
    with pytest.raises(ShapeError, match="this file has no mask"):
        net.logits(x, mask)
    assert net.logits(x, np.ones((2, 4), bool)).shape == (2, 4)


def test_a_mask_is_passed_to_the_mask_input(tmp_path):
    nodes = [node("Mul", "x attention_mask", ("a",)), node("ReduceSum", "a", keepdims=0)]
    given = {"x": floats(2, 3), "attention_mask": np.zeros((2, 3), np.float32)}
    net = sl.models.from_onnx(save(tmp_path / "a.onnx", nodes, given))
    mask = np.array([[True, True, False], [True, False, False]])
    found = net.logits(given["x"], mask).item()
    assert found == pytest.approx(given["x"][mask].sum(), rel=1e-5)
    assert net.logits(given["x"]).item() == pytest.approx(given["x"].sum(), rel=1e-5)


def test_logits_of_an_onnx_file_with_further_inputs_is_an_error(tmp_path):
    given = {"x": floats(2, 3), "z": floats(2, 3)}
    net = sl.models.from_onnx(save(tmp_path / "a.onnx", [node("Add", "x z")], given))
    with pytest.raises(ArgumentError, match="has the inputs x, z"):
        net.logits(given["x"])
    np.testing.assert_allclose(net(**given).numpy(), given["x"] + given["z"])


@pytest.mark.parametrize("inputs", [(), (1, 2, 3)])
def test_inputs_that_are_missing_or_too_many_are_an_error(tmp_path, inputs):
    given = {"x": floats(2, 3), "z": floats(2, 3)}
    net = sl.models.from_onnx(save(tmp_path / "a.onnx", [node("Add", "x z")], given))
    with pytest.raises(ArgumentError, match=f"got {len(inputs)} by position"):
        net(*(given["x"] for _ in inputs))


def test_the_first_unsupported_operator_is_named(tmp_path):
    nodes = [
        node("Relu", "x", ("a",)),
        node("Det", "a", ("b",), name="/model/det"),
        node("Col2Im", "b b b"),
    ]
    file = save(tmp_path / "a.onnx", nodes, {"x": floats(2, 2)})
    with pytest.raises(OperationError, match=r"node '/model/det' \(Det\) has an operator"):
        sl.models.from_onnx(file)
    assert sl.models.from_onnx(file, output="a")(floats(2, 2)).shape == (2, 2)


def test_a_shape_that_depends_on_values_is_an_error_that_names_the_node(tmp_path):
    nodes = [node("NonZero", "x", name="which")]
    net = sl.models.from_onnx(save(tmp_path / "a.onnx", nodes, {"x": floats(2, 2)}))
    with pytest.raises(OperationError, match=r"'which' \(NonZero\): computes its input"):
        net(floats(2, 2))


def test_the_error_names_an_onnx_node_that_cannot_be_computed(tmp_path):
    nodes = [node("MatMul", "x w", name="product")]
    weights = {"w": floats(3, 4)}
    file = save(tmp_path / "a.onnx", nodes, {"x": floats(2, 3)}, weights=weights)
    with pytest.raises(ShapeError, match=r"node 'product' \(MatMul\): "):
        sl.models.from_onnx(file)(floats(2, 5))


def test_an_encoder_of_another_shape_is_an_error(tmp_path):
    file = tmp_path / "net.onnx"
    import onnx
    from onnx import helper

    x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", "l", 4])
    y = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
    graph = helper.make_graph([node("Relu", "x")], "graph", [x], [y])
    onnx.save(helper.make_model(graph), file)
    with pytest.raises(ArgumentError, match=r"reads arrays of shape \(any, any, 4\)"):
        sl.models.from_onnx(file, encoder=DNA_ENCODER, length=9)
    last = sl.encode.OneHot("dna", channels="last")
    assert sl.models.from_onnx(file, encoder=last).encoder == last


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pair": "mean"}, 'pair must be "sum" or None'),
        ({"length": 0, "encoder": DNA_ENCODER}, "length must be an integer of at least 1"),
        ({"length": 8}, "length needs an encoder"),
    ],
)
def test_invalid_arguments_of_from_onnx_are_errors(tmp_path, options, message):
    with pytest.raises(ArgumentError, match=message):
        sl.models.from_onnx(classifier(tmp_path), **options)


def test_a_copy_of_an_onnx_network_has_separate_weights(tmp_path):
    net = sl.models.from_onnx(classifier(tmp_path), encoder=DNA_ENCODER, length=8)
    zeros = net.map(lambda _, x: x * 0.0)
    assert zeros.logits(DNA_ENCODER.batch(["ACGT"])).numpy().tolist() == [[0.5, 0.5]]
    assert net.logits(DNA_ENCODER.batch(["ACGT"])).numpy().tolist() != [[0.5, 0.5]]


def test_an_onnx_file_is_fine_tuned_saved_and_loaded(tmp_path):
    rng = np.random.default_rng(0)
    reads = ["".join(rng.choice(list("ACGT"), 8)) for _ in range(60)]
    labels = ["yes" if read.count("G") > 2 else "no" for read in reads]
    path = tmp_path / "reads.fa"
    path.write_text("".join(f">{i}\n{read}\n" for i, read in enumerate(reads)))
    table = tmp_path / "labels.tsv"
    rows = "".join(f"{i}\t{label}\n" for i, label in enumerate(labels))
    table.write_text("id\tlabel\n" + rows)
    data = sl.data.SequenceDataset(path, labels=table, encoder=DNA_ENCODER)
    file = classifier(tmp_path)
    net = sl.models.from_onnx(file, encoder=DNA_ENCODER, length=8, output="d")
    before = np.array(net.to_record()["head.bias"])
    run = sl.train.fit(net, data, data, epochs=2, out=tmp_path / "run", progress=False)
    assert not np.array_equal(before, net.to_record()["head.bias"])
    fresh = sl.models.from_onnx(file, encoder=DNA_ENCODER, length=8, output="d")
    loaded = sl.models.load(tmp_path / "run", model=fresh)
    ours, theirs = (sl.infer.predict(it, data).to_numpy() for it in (run, loaded))
    np.testing.assert_array_equal(ours, theirs)
