"""Models, optimisers and schedules are restored by every recorder and precision."""

import ml_dtypes
import numpy as np
import pytest

import seqloom as sl
from seqloom import nn
from seqloom.errors import RecordError
from seqloom.record import BFloat16, Double, Full, Half, JsonGz, Safetensors

RECORDER_CLASSES = [Safetensors, JsonGz]
PRECISION_POLICIES = [None, Full(), Half(), BFloat16(), Double()]
LOSSLESS_PRECISIONS = [None, Full(), Double()]
BACKEND_NAMES = ["numpy", "torch", "jax"]
every_recorder = pytest.mark.parametrize("recorder", RECORDER_CLASSES)


class Net(nn.Module):
    """Module with batch norm, a list, an optional layer, a shared parameter, a counter."""

    norm: nn.BatchNorm1d
    layers: list[nn.Linear]
    shift: nn.Param | None
    scale: nn.Param
    same_scale: nn.Param
    count: nn.Buffer

    def __init__(self, *, has_shift=True):
        self.norm = nn.BatchNorm1d(3)
        self.layers = [nn.Linear(3, 4), nn.Linear(4, 2, bias=False)]
        self.shift = nn.Param((2,), nn.Normal(1.0)) if has_shift else None
        self.scale = self.same_scale = nn.Param((2,), nn.Fill(1.5))
        self.count = nn.Buffer((2,), nn.Fill(7), dtype="int64")

    def __call__(self, x):
        hidden = nn.functional.relu(self.layers[0](self.norm(x)))
        out = self.layers[1](hidden) * self.scale.value * self.same_scale.value
        return out if self.shift is None else out + self.shift.value


INPUT_ARRAY = np.random.default_rng(0).normal(size=(8, 3)).astype("f4")


def a_net(backend="numpy", *, key=0, **options):
    return Net(**options).bind(backend, sl.Key(key))


def outputs(net, x=INPUT_ARRAY):
    return np.asarray(net(net.backend.tensor(x)).numpy())


def trained(backend="numpy", optimizer=None, steps=3):
    net = a_net(backend).train()
    optimizer = optimizer or sl.optim.AdamW()
    step = nn.value_and_grad(lambda net, x: (net(x) ** 2.0).mean())
    for _ in range(steps):
        optimizer.step(0.1, net, step(net, net.backend.tensor(INPUT_ARRAY))[1])
    return net, optimizer


def through(recorder, precision, record):
    return recorder().from_bytes(recorder(precision=precision).to_bytes(record))


@every_recorder
@pytest.mark.parametrize("precision", PRECISION_POLICIES, ids=str)
@pytest.mark.parametrize("has_shift", [True, False])
def test_a_model_is_restored_for_training_and_evaluation(recorder, precision, has_shift):
    net = a_net(has_shift=has_shift).train()
    outputs(net)  # updates the running averages
    record = through(recorder, precision, net.to_record())
    again = a_net(key=1, has_shift=has_shift).load_record(record)
    tolerance = 0 if precision in LOSSLESS_PRECISIONS else 0.05
    for mode in (True, False):
        found, expected = (outputs(each.train(mode)) for each in (again, net))
        np.testing.assert_allclose(found, expected, atol=tolerance)
    for path in ("norm.running_mean", "norm.running_var", "count"):
        # Half precision does not convert these arrays.
        if path != "norm.running_mean" or tolerance == 0:
            one, other = (dict(each.named())[path].numpy() for each in (again, net))
            np.testing.assert_array_equal(one, other)
    assert again.scale is again.same_scale


@every_recorder
@pytest.mark.parametrize("precision", [Half(), BFloat16()], ids=str)
def test_the_variance_stays_float32_and_integers_stay_integers(recorder, precision):
    record = through(recorder, precision, a_net().to_record())
    assert record["layers.0.weight"].dtype == precision.dtype
    assert record["norm.running_var"].dtype == np.float32
    assert record["count"].dtype == np.int64
    assert "same_scale" not in record


@every_recorder
def test_an_optimiser_resumes_from_its_record_exactly(recorder):
    for make in (sl.optim.AdamW, lambda: sl.optim.SGD(momentum=0.9)):
        net, optimizer = trained(optimizer=make())
        both = net.to_record().with_prefix("net.") | optimizer.to_record().with_prefix("o.")
        record = through(recorder, None, both)
        again = a_net(key=1).train().load_record(record.under("net."))
        other = make().load_record(record.under("o."))
        assert other.step_count == optimizer.step_count == 3
        step = nn.value_and_grad(lambda net, x: (net(x) ** 2.0).mean())
        for each, own in ((net, optimizer), (again, other)):
            own.step(0.1, each, step(each, each.backend.tensor(INPUT_ARRAY))[1])
        for (_, one), (_, two) in zip(net.parameters(), again.parameters(), strict=True):
            np.testing.assert_array_equal(one.numpy(), two.numpy())


def test_a_record_of_an_optimiser_is_not_changed_by_its_next_step():
    net, optimizer = trained()
    record = optimizer.to_record()
    before = {path: np.array(array) for path, array in record.items()}
    step = nn.value_and_grad(lambda net, x: (net(x) ** 2.0).mean())
    optimizer.step(0.1, net, step(net, net.backend.tensor(INPUT_ARRAY))[1])
    for path, array in before.items():
        np.testing.assert_array_equal(np.asarray(record[path]), array)
        assert not np.array_equal(np.asarray(optimizer.to_record()[path]), array)


@pytest.mark.parametrize("backend", BACKEND_NAMES)
def test_a_record_is_not_changed_by_the_next_step_and_shares_the_arrays(backend):
    pytest.importorskip(backend)
    net, optimizer = trained(backend, steps=1)
    record = net.to_record()
    if backend != "jax":
        own = net.backend.to_numpy(net.layers[0].weight.storage())
        assert np.shares_memory(record["layers.0.weight"], own)
    assert not record["layers.0.weight"].flags.writeable
    before = {path: np.array(array) for path, array in record.items()}
    step = nn.value_and_grad(lambda net, x: (net(x) ** 2.0).mean())
    optimizer.step(0.1, net, step(net, net.backend.tensor(INPUT_ARRAY))[1])
    for path, array in before.items():
        np.testing.assert_array_equal(record[path], array)
    assert not np.array_equal(net.layers[0].weight.numpy(), before["layers.0.weight"])


def test_a_schedule_is_restored_from_metadata():
    schedule = sl.optim.WarmupCosine(0.1, warmup=3, total=9)
    record = sl.record.Record({}, metadata={"schedule": schedule.to_json()})
    for recorder in RECORDER_CLASSES:
        found = through(recorder, None, record).metadata["schedule"]
        again = sl.optim.WarmupCosine.from_json(found)
        assert [again(n) for n in range(9)] == [schedule(n) for n in range(9)]


@pytest.mark.parametrize("source", BACKEND_NAMES)
@pytest.mark.parametrize("target", BACKEND_NAMES)
def test_a_model_saved_on_one_backend_computes_the_same_on_another(source, target):
    for name in (source, target):
        pytest.importorskip(name)
    net = a_net(source).eval()
    again = (
        a_net(target, key=1).eval().load_record(through(Safetensors, None, net.to_record()))
    )
    np.testing.assert_allclose(outputs(again), outputs(net), rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("backend", BACKEND_NAMES)
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_a_half_precision_model_and_optimiser_are_restored_bit_for_bit(backend, dtype):
    pytest.importorskip(backend)
    layer = nn.Linear(3, 2).bind(backend, sl.Key(0)).to(backend, dtype)
    optimizer = sl.optim.AdamW()
    step = nn.value_and_grad(lambda net: (net.weight.value * net.weight.value).sum())
    optimizer.step(0.1, layer, step(layer)[1])
    record = layer.to_record().with_prefix("m.") | optimizer.to_record().with_prefix("o.")
    assert {str(np.asarray(array).dtype) for array in record.values()} == {dtype}
    for recorder in RECORDER_CLASSES:
        found = through(recorder, None, record)
        again = nn.Linear(3, 2).bind(backend, sl.Key(1)).to(backend, dtype)
        again.load_record(found.under("m."))
        other = sl.optim.AdamW().load_record(found.under("o."))
        for one, two in ((layer, again), (optimizer, other)):
            for path, array in one.to_record().items():
                same = np.asarray(two.to_record()[path])
                assert same.tobytes() == np.asarray(array).tobytes(), path
        state = layer.state_dict()
        assert again.load_state_dict(state).weight.numpy().tolist() == (
            state["weight"].tolist()
        )
    assert np.asarray(layer.weight).dtype == getattr(ml_dtypes, dtype, dtype)


def test_a_half_precision_file_is_converted_to_the_dtype_of_the_module():
    layer = nn.Linear(3, 2).bind("numpy", sl.Key(0))
    record = through(Safetensors, Half(), layer.to_record())
    again = nn.Linear(3, 2).bind("numpy", sl.Key(1)).load_record(record)
    assert again.weight.numpy().dtype == np.float32
    assert again.load_report.converted["weight"] == ("float16", "float32")
    np.testing.assert_array_equal(
        again.weight.numpy(), layer.weight.numpy().astype("f2").astype("f4")
    )


def test_half_precision_pytorch_tensors_are_assigned_and_loaded():
    torch = pytest.importorskip("torch")
    layer = nn.Linear(3, 2).bind("numpy", sl.Key(0))
    values = torch.full((2, 3), 1.5, dtype=torch.bfloat16, requires_grad=True)
    layer.weight.assign(values)
    assert layer.weight.numpy().tolist() == [[1.5] * 3] * 2
    layer.load_record({"weight": values, "bias": torch.ones(2).bfloat16()})
    assert layer.bias.numpy().tolist() == [1, 1]


def test_the_load_report_lists_the_result_for_each_path():
    net = nn.Linear(3, 2).bind("numpy", sl.Key(0))
    before = net.bias.numpy()
    found = {"weight": np.ones((2, 3)), "bias": np.ones(5, "f4"), "other": np.ones(1)}
    with pytest.raises(RecordError, match=r"bias has shape \(5,\).*other is not in"):
        net.load_record(found)
    assert net.load_report is None
    report = net.load_record(found, strict=False).load_report
    assert report.applied == ("weight",)
    assert report.misshapen == {"bias": ((5,), (2,))}
    assert report.unused == ("other",)
    assert report.converted == {"weight": ("float64", "float32")}
    assert str(report) == (
        "1 applied, 1 unused (other), 1 misshapen (bias: (5,), not (2,)), "
        "1 converted (weight: float64 to float32)"
    )
    assert net.weight.numpy().tolist() == [[1, 1, 1]] * 2
    np.testing.assert_array_equal(net.bias.numpy(), before)
    assert net.load_record({"bias": np.ones(2, "f4")}, strict=False).load_report.missing


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("value", [np.full(2, 1e300), np.full(2, 1j, "c8")])
def test_unrepresentable_numbers_are_errors_and_change_nothing(strict, value):
    net = nn.Linear(3, 2).bind("numpy", sl.Key(0))
    before = net.to_record().copy()
    with pytest.raises(RecordError, match="bias holds"):
        net.load_record({"weight": np.ones((2, 3), "f4"), "bias": value}, strict=strict)
    for path, array in before.items():
        np.testing.assert_array_equal(net.state_dict()[path], array)


def test_loading_a_corrupt_file_leaves_the_model_unchanged(tmp_path):
    net = a_net()
    net.to_record().save(tmp_path / "x.safetensors")
    data = bytearray((tmp_path / "x.safetensors").read_bytes())
    data[-1] ^= 1
    (tmp_path / "x.safetensors").write_bytes(data)
    other = a_net(key=1)
    before = other.to_record().copy()
    with pytest.raises(RecordError, match="damaged"):
        other.load_record(sl.record.load(tmp_path / "x.safetensors"))
    for path, array in before.items():
        np.testing.assert_array_equal(other.state_dict()[path], array)


def test_a_record_without_batch_counts_loads_and_is_reported():
    layer = nn.BatchNorm1d(2).bind("numpy", sl.Key(0))
    record = dict(layer.to_record())
    record |= {"running_mean": np.array([1.0, 2.0], "f4")}
    del record["num_batches_tracked"]
    assert layer.load_record(record).load_report.missing == ("num_batches_tracked",)
    assert layer.running_mean.numpy().tolist() == [1.0, 2.0]
    assert layer.num_batches_tracked.numpy() == 0
