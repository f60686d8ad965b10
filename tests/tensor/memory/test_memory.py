"""Bytes that `memory` reports, by purpose and by line, compared with the allocators."""

import gc
import sys
import tracemalloc

import numpy as np
import pytest

import seqloom as sl
from seqloom.errors import ReleasedError
from seqloom.tensor._families._numpy_arrays import block_cache

NUMPY = sl.tensor.backend("numpy", num_threads=1)
AUTODIFF = sl.tensor.Autodiff(NUMPY)
MIB = 1 << 20


def intermediates():
    return sl.tensor.memory().by_purpose["intermediates"]


@pytest.fixture(autouse=True)
def _collected():
    gc.collect()


def test_the_memory_report_counts_bytes_by_purpose():
    before = sl.tensor.memory().by_purpose
    layer = sl.nn.Linear(256, 128, bias=False).bind("numpy", sl.Key(0))
    x = NUMPY.tensor(np.ones((4, 256), "f4"))
    loss, grads = sl.nn.value_and_grad(lambda n: n(x).sum())(layer)
    opt = sl.optim.AdamW()
    opt.step(0.1, layer, grads)
    after = sl.tensor.memory().by_purpose
    found = {name: after[name] - before[name] for name in after}
    weights = 256 * 128 * 4
    assert found["parameters"] == weights
    assert found["gradients"] == weights
    assert found["intermediates"] == x.size * 4 + loss.size * 4
    # The state of Adam is two arrays per parameter, and the step count.
    assert 2 * weights <= found["optimiser"] <= 2 * weights + 16


def test_the_memory_of_a_module_buffer_is_counted_as_buffers():
    before = sl.tensor.memory().by_purpose["buffers"]
    buffer = sl.nn.Buffer((10,), sl.nn.Fill(0.0))
    buffer.bind("b", NUMPY, sl.Key(0))
    assert buffer.value.shape == (10,)
    assert sl.tensor.memory().by_purpose["buffers"] - before == 40


def test_the_memory_report_names_lines_by_file_and_number():
    kept = NUMPY.tensor(np.zeros(1000, "f4"))
    line = test_the_memory_report_names_lines_by_file_and_number.__code__.co_firstlineno + 1
    assert sl.tensor.memory().by_line[f"{__file__}:{line}"] == kept.size * 4


def test_the_memory_report_names_the_user_line_that_calls_a_layer():
    layer = sl.nn.Linear(4, 1000).bind("numpy", sl.Key(0))
    out = layer(NUMPY.tensor(np.zeros((1, 4), "f4")))
    line = (
        test_the_memory_report_names_the_user_line_that_calls_a_layer.__code__.co_firstlineno
        + 2
    )
    assert sl.tensor.memory().by_line[f"{__file__}:{line}"] >= out.size * 4


def test_views_of_one_array_count_once():
    before = intermediates()
    x = NUMPY.tensor(np.zeros((100, 100), "f4"))
    views = [x[i] for i in range(100)] + [x.T, x.reshape(-1)]
    assert intermediates() - before == x.size * 4
    assert len(views) == 102


def test_a_small_view_counts_all_memory_that_it_keeps_alive():
    before = intermediates()
    small = NUMPY.tensor(np.zeros((1000,), "f4"))[:1]
    assert intermediates() - before == 4000
    assert small.size == 1


def test_saved_arrays_count_at_the_line_of_their_result():
    before = intermediates()
    x = AUTODIFF.tensor(np.ones(1000, "f4"), requires_grad=True)
    y = sl.tensor.apply("exp", sl.tensor.apply("exp", x))
    report = sl.tensor.memory()
    assert intermediates() - before == 3 * 4000
    line = test_saved_arrays_count_at_the_line_of_their_result.__code__.co_firstlineno
    assert report.by_line[f"{__file__}:{line + 3} (tape)"] == 4000
    y.sum().backward()


def test_backward_frees_the_saved_arrays():
    x = AUTODIFF.tensor(np.ones(1000, "f4"), requires_grad=True)
    y = sl.tensor.apply("exp", sl.tensor.apply("exp", x)).sum()
    before = intermediates()
    y.backward()
    assert intermediates() < before


def test_the_memory_report_agrees_with_tracemalloc():
    rng = np.random.default_rng(0)
    block_cache.free_blocks()  # blocks in the cache were allocated before tracing
    tracemalloc.start()
    try:
        before, traced = sl.tensor.memory().total, tracemalloc.get_traced_memory()[0]
        net = sl.nn.Linear(512, 512).bind("numpy", sl.Key(0))
        x = AUTODIFF.tensor(rng.random((512, 512), dtype="f4"), requires_grad=True)
        hidden = [sl.tensor.apply("exp", x * each) for each in range(5)]
        hidden += [each.T for each in hidden]
        out = net(NUMPY.tensor(rng.random((64, 512), dtype="f4")))
        now = tracemalloc.get_traced_memory()[0]
        told = sl.tensor.memory().total - before
    finally:
        tracemalloc.stop()
    assert told > 8 * MIB
    assert told == pytest.approx(now - traced, rel=0.01)
    assert out.shape == (64, 512)


def test_intermediates_do_not_grow_over_a_thousand_steps():
    layer = sl.nn.Linear(16, 16).bind("numpy", sl.Key(0))
    opt, kept, figures = sl.optim.AdamW(), [], set()
    x = NUMPY.tensor(np.ones((8, 16), "f4"))

    def train():
        with sl.tensor.scope():
            loss, grads = sl.nn.value_and_grad(lambda n: (n(x) ** 2).sum())(layer)
            kept.append(loss)
            opt.step(1e-3, layer, grads)

    train()
    for step in range(1000):
        train()
        if step % 100 == 0:
            figures.add(intermediates())
    assert len(figures) == 1
    with pytest.raises(ReleasedError):
        kept[0].item()


def test_memory_does_not_grow_over_ten_thousand_forward_passes():
    layer = sl.nn.Linear(16, 16).bind("numpy", sl.Key(0))
    x = NUMPY.tensor(np.ones((8, 16), "f4"))
    weight = AUTODIFF.tensor(layer.weight.numpy(), requires_grad=True)

    def forwards(count):
        for _ in range(count):
            sl.tensor.apply("relu", x @ weight.T).sum()

    with sl.tensor.scope():
        forwards(2000)
        blocks, bytes_ = sys.getallocatedblocks(), intermediates()
        forwards(8000)
        assert sys.getallocatedblocks() - blocks < 4000
        assert intermediates() == bytes_


def test_exported_arrays_survive_a_thousand_steps_unchanged():
    torch = pytest.importorskip("torch")
    exported, copies = [], []
    for step in range(1000):
        with sl.tensor.scope():
            x = NUMPY.tensor(np.full(64, step, "f4")) * 2
            ways = np.asarray, np.from_dlpack, torch.from_dlpack, lambda x: x.numpy()
            exported.append(ways[step % 4](x))
            copies.append(float(2 * step))
    for array, value in zip(exported, copies, strict=True):
        assert (np.asarray(array) == value).all()


def test_the_memory_table_has_the_purposes_the_total_and_the_lines():
    kept = NUMPY.tensor(np.zeros(10_000, "f4"))
    table = str(sl.tensor.memory())
    for name in ("parameters", "optimiser", "total", "test_memory.py"):
        assert name in table
    assert kept.size == 10_000


@pytest.mark.parametrize("name", ["torch", "jax"])
def test_the_memory_of_torch_and_jax_tensors_is_counted(name):
    pytest.importorskip(name)
    before = intermediates()
    x = sl.tensor.backend(name).tensor(np.zeros(1000, "f4"))
    y = x + 1
    assert intermediates() - before == 8000
    assert y.shape == x.shape


def test_tensors_of_an_export_trace_use_no_memory(tmp_path):
    kept = []

    class Keeps(sl.nn.Module):
        layer: sl.nn.Linear

        def __init__(self):
            self.layer = sl.nn.Linear(3, 2)

        def __call__(self, x):
            kept.append(x * 2)
            return self.layer(x)

    network = Keeps().bind("numpy", sl.Key(0)).eval()
    before = sl.tensor.memory().by_purpose["intermediates"]
    sl.export.save(network, tmp_path / "model", inputs=("batch", 3))
    assert kept
    assert sl.tensor.memory().by_purpose["intermediates"] == before


@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_symbolic_tensors_of_a_captured_step_use_no_memory(name):
    backend = sl.tensor.backend(name, num_threads=1)
    found = []

    def step(x):
        y = x * 2
        found.append(sl.tensor.memory().by_purpose["intermediates"])
        return y

    x = backend.tensor([1.0] * 1000)
    before = intermediates()
    sl.tensor.compile(step)(x)
    assert found[0] <= before
