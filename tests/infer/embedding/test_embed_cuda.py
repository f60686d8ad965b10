"""Tests of `embed` on a GPU; without a GPU, mocks replace its streams and memory."""

from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as arrays_of
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

import cuda_device
import embed_job
import seqloom as sl
from seqloom.infer.embedding import _job, _torch_device
from seqloom.infer.embedding._model import CpuDevice
from seqloom.infer.embedding._torch_device import PackedArrays, PinnedBuffers, TorchDevice
from seqloom.tensor.backends._torch import _device_random, _packed_attention


class Table(torch.nn.Module):
    """A module with one embedding table."""

    def __init__(self):
        super().__init__()
        self.table = torch.nn.Parameter(torch.from_numpy(embed_job.EMBEDDING_TABLE))

    def forward(self, input_ids):
        return self.table[input_ids.long()]


RANDOM_DTYPES = st.sampled_from(["bool", "int32", "int64", "float16", "float32", "uint8"])
RANDOM_SHAPES = st.sampled_from([(), (0,), (7,), (3, 2), (2, 0), (300,)])
RANDOM_ARRAYS = arrays_of.arrays(RANDOM_DTYPES, RANDOM_SHAPES)


@settings(deadline=None)
@given(st.lists(RANDOM_ARRAYS, max_size=6))
def test_packing_arrays_into_one_transfer_does_not_change_them(arrays):
    batch: dict[str, Any] = {f"a{n}": array for n, array in enumerate(arrays)} | {
        "n": 3,
        "ids": ["x"],
    }
    slab = PackedArrays.of(batch)
    buffer = slab.write(torch.empty(slab.size + 100, dtype=torch.uint8))
    found = slab.read(buffer.clone())
    assert len(found) == len(arrays)
    for name, tensor in found.items():
        assert tensor.numpy().dtype == batch[name].dtype
        np.testing.assert_array_equal(tensor.numpy(), batch[name])


class Stream:
    """A mock of a CUDA stream that runs all work at once, and counts waits."""

    current: Any = None

    def __init__(self, *_: Any) -> None:
        self.waits = 0

    def record_event(self, event):
        return event

    def wait_stream(self, _):
        self.waits += 1

    wait_event = wait_stream


class Event:
    """A mock of a CUDA event that has already occurred."""

    def __init__(self, *, blocking):
        assert blocking

    def query(self):
        return True

    def synchronize(self):
        pass


@contextmanager
def current(stream):
    before, Stream.current = Stream.current, stream
    yield
    Stream.current = before


@pytest.fixture
def streams(monkeypatch):
    """Mock CUDA streams on the CPU, which record the memory that each stream uses."""
    used, made = [], []
    monkeypatch.setattr(Stream, "current", Stream())
    monkeypatch.setattr(torch.cuda, "Stream", Stream)
    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "stream", current)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda _: Stream.current)
    monkeypatch.setattr(torch.Tensor, "record_stream", lambda _, by: used.append(by))

    def pin(size):
        made.append(size)
        return torch.empty(size, dtype=torch.uint8)

    def to(self, *_, non_blocking):
        assert non_blocking
        return self.clone()

    monkeypatch.setattr(_torch_device, "pin_buffer", pin)
    monkeypatch.setattr(torch.Tensor, "to", to)
    return used, made


def test_memory_is_kept_until_the_last_cuda_stream_has_used_it(streams):
    used, _ = streams
    device, computing = TorchDevice("cpu"), Stream.current
    device.place({"x": np.arange(3)})
    assert used == [computing]
    assert computing.waits == 1
    device.fetch(torch.ones(3))()
    assert used[1] is not computing
    assert used[1].waits == 1


def test_batches_of_equal_size_reuse_one_pinned_buffer(streams):
    _, made = streams
    device = TorchDevice("cpu")
    for _ in range(50):
        device.place({"x": np.arange(300), "y": np.zeros(4, bool)})
        device.fetch(torch.ones(30, 8))()
    assert len(made) == 2


def test_a_longer_batch_allocates_a_larger_pinned_buffer(streams):
    ring = PinnedBuffers()
    small = ring.take(100)
    ring.give(small)
    large = ring.take(10_000)
    ring.give(large)
    assert ring.take(100) is large
    assert streams[1] == [125, 12_500]


@pytest.mark.parametrize("pool", ["mean", "cls", "none"])
def test_pooling_in_pytorch_equals_pooling_in_numpy(streams, pool, tmp_path):
    found = {}
    text = "".join(f">s{n}\n{'MKTAYIAKQR'[n % 9 :] * 9}\n" for n in range(70))
    (tmp_path / "a.fa").write_text(text)
    for device in (CpuDevice(), TorchDevice("cpu")):
        out = tmp_path / type(device).__name__
        options: Any = {"max_tokens": 900, "shard_size": 30, "pool": pool}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_job, "find_device", lambda _, device=device: device)
            sl.infer.embed(Table(), tmp_path / "a.fa", out=out, **options)
        found[out.name] = sl.infer.load(out).to_numpy()
    rows, expected = found["TorchDevice"], found["CpuDevice"]
    np.testing.assert_allclose(rows, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("is_small", [False, True])
def test_embed_computes_the_first_batch_on_a_device_twice(tmp_path, monkeypatch, is_small):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.fa").write_text("".join(f">s{n}\nMKTAYIAKQR\n" for n in range(60)))
    sizes = []

    def embed_tokens(batch):
        sizes.append(batch["input_ids"].size)
        if is_small and sizes[-1] > 150:
            raise MemoryError
        return embed_job.embed_tokens(batch)

    monkeypatch.setattr(CpuDevice, "is_cold", True)
    summary = sl.infer.embed(embed_tokens, "a.fa", out="e", max_tokens=240)
    assert sizes[0] == sizes[1]
    assert summary.sequences == 60
    assert len(summary.notes) == is_small


def test_a_cublas_allocation_error_is_treated_as_out_of_memory(streams, monkeypatch):
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    device = TorchDevice("cpu")
    assert device.is_full(RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when"))
    assert device.is_full(torch.OutOfMemoryError("CUDA out of memory"))
    assert not device.is_full(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))


class Copies(TorchDispatchMode):
    """Records blocking copies between CPU and GPU."""

    def __init__(self):
        super().__init__()
        self.found = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        del types
        out = func(*args, **(kwargs or {}))
        given = [it for it in args if isinstance(it, torch.Tensor) and it.ndim]
        kinds = {it.device.type for it in given}
        if isinstance(out, torch.Tensor) and kinds and kinds != {out.device.type}:
            self.found.append(str(func))
        return out


@pytest.mark.filterwarnings("ignore:Accessing the data pointer of FakeTensor")
def test_esm2_does_not_synchronise_with_the_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _device=0: (8, 0))
    monkeypatch.setattr(_packed_attention, "_to_aligned", lambda x: x.contiguous())
    monkeypatch.setattr(_device_random, "_compile_function", lambda function: function)
    # Tensors without values: code that reads a value, for example by .item(), raises.
    with FakeTensorMode(allow_non_fake_inputs=True):
        model = sl.models.ESM2Config.of("8M").init("torch:cuda")
        offsets = torch.empty(4, dtype=torch.int32, device="cuda")
        ids = torch.empty(100, dtype=torch.int32, device="cuda")
        batch = {"input_ids": ids, "cu_seqlens": offsets, "max_seqlen": 60}
        model.embed(batch)  # initialises the weights
        with torch.inference_mode(), Copies() as copies:
            found = model.embed(batch, layers=(0, -1))
    assert {x.shape for x in found.values()} == {(100, 320)}
    assert copies.found == []


def test_embed_accepts_a_compiled_pytorch_module(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.fa").write_text("".join(f">s{n}\nMKTAYIAKQR\n" for n in range(60)))
    plain = Table()
    compiled = torch.compile(plain, dynamic=True, backend="aot_eager")
    for model, out in ((plain, "plain"), (compiled, "compiled")):
        sl.infer.embed(model, "a.fa", out=out, max_tokens=250)
    found, expected = (sl.infer.load(out) for out in ("compiled", "plain"))
    np.testing.assert_array_equal(found.to_numpy(), expected.to_numpy())
    assert found.model == expected.model


IS_CUDA = cuda_device.DEVICE_NAME == "cuda"
RECORD_COUNT = 3000 if IS_CUDA else 100


class Slow(Table):
    """An embedding table whose rows take long to compute."""

    def __init__(self):
        super().__init__()
        self.square = torch.nn.Parameter(torch.eye(4096 if IS_CUDA else 64))

    def forward(self, input_ids):
        x = self.square
        for _ in range(8):
            x = x @ self.square
        return super().forward(input_ids) * x[0, 0]


@pytest.fixture
def proteins(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    letters = np.frombuffer(b"ACDEFGHIKLMNPQRSTVWY", np.uint8)
    records = [rng.choice(letters, size) for size in rng.integers(5, 400, RECORD_COUNT)]
    text = (b">s%d\n%s\n" % (n, it.tobytes()) for n, it in enumerate(records))
    (tmp_path / "p.fa").write_bytes(b"".join(text))


@cuda_device.on_device
@pytest.mark.parametrize("pool", ["none", "mean"])
def test_a_slow_device_returns_the_embeddings_of_the_cpu(proteins, pool):
    sl.infer.embed(Slow().to(cuda_device.DEVICE_NAME), "p.fa", out="device", pool=pool)
    sl.infer.embed(embed_job.embed_tokens, "p.fa", out="host", pool=pool)
    found, expected = (sl.infer.load(out).to_numpy() for out in ("device", "host"))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@cuda_device.on_cuda
def test_the_embedding_loop_does_not_synchronise_after_its_start(proteins):
    sl.models.ESM2Config.of("8M").init("numpy").save("8M")
    model = sl.models.ESM2.load("8M", "torch:cuda", "bfloat16").eval()
    for out in ("warm", "timed"):
        is_timed = out == "timed"

        def watch(_news, mode="error" if is_timed else "default"):
            torch.cuda.set_sync_debug_mode(mode)

        try:
            sl.infer.embed(model, "p.fa", out=out, progress=watch)
        finally:
            torch.cuda.set_sync_debug_mode("default")
    assert len(sl.infer.load("timed")) == RECORD_COUNT


@cuda_device.on_cuda
def test_embed_halves_its_batches_on_a_device_with_little_memory(proteins):
    model = sl.models.ESM2Config.of("8M").init("torch:cuda").eval()
    whole = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction(1e9 / whole)
    try:
        summary = sl.infer.embed(model, "p.fa", out="e", max_tokens=1 << 18)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    assert "max_tokens=" in summary.notes[0]
    assert len(sl.infer.load("e")) == RECORD_COUNT
