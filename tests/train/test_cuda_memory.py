"""Tests that GPU memory does not grow in training, and depends on the batch size."""

import gc
from typing import Any

import numpy as np
import pytest

import cuda_device
import seqloom as sl
from fit_arguments import as_arguments

torch: Any = pytest.importorskip("torch")

pytestmark = cuda_device.on_device


def count_memory():
    """Return the bytes in use on the GPU; on a CPU, the bytes of all tensors."""
    gc.collect()
    if cuda_device.DEVICE_NAME == "cuda":
        return torch.cuda.memory_allocated()
    tensors = [it for it in gc.get_objects() if type(it) is torch.Tensor]
    return sum(it.nbytes for it in tensors)


class Memory(sl.train.Progress):
    """A callback that records the memory in use after each epoch."""

    def __init__(self):
        self.bytes = []

    def on_epoch(self, row):
        del row
        self.bytes.append(count_memory())


def test_the_memory_of_training_does_not_grow(toy, small):
    memory = Memory()
    options: dict[str, Any] = {"epochs": 6, "batch_size": 16, "report": False}
    sl.train.fit(
        small,
        toy(),
        **as_arguments(backend=cuda_device.TORCH, callbacks=[memory], **options),
    )
    assert len(memory.bytes) == 6
    assert len(set(memory.bytes[1:])) == 1


def test_the_memory_of_embedding_does_not_grow():
    network = sl.models.ESM2Config(layers=1, width=32, heads=2).init(
        cuda_device.TORCH, sl.Key(0)
    )
    b, found = network.backend, []
    for _ in range(4):
        batch = {
            "input_ids": b.asarray(np.full(64, 5, "int32")),
            "cu_seqlens": b.asarray(np.array([0, 30, 64], "int32")),
            "max_seqlen": 34,
        }
        network.embed(batch)
        del batch
        found.append(count_memory())
    assert len(set(found[1:])) == 1


def measure_peak(accumulate):
    """Return the peak memory in bytes of a training run with accumulated batches."""
    rows = np.random.default_rng(0).normal(size=(4096, 64)).astype("float32")
    data = {"inputs": rows, "label": rows[:, :3].argmax(axis=1)}
    layers = [sl.nn.Linear(64, 4096), sl.nn.ReLU(), sl.nn.Linear(4096, 3)]
    network = sl.nn.Sequential(*layers).bind(cuda_device.TORCH, 0)
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    options: dict[str, Any] = {"loss": sl.nn.functional.cross_entropy, "report": False}
    options |= {"epochs": 2, "batch_size": 4096 // accumulate, "accumulate": accumulate}
    sl.train.fit(network, data, **as_arguments(progress=False, compile=False, **options))
    return torch.cuda.max_memory_allocated() - before


@cuda_device.on_cuda
def test_eight_accumulated_batches_need_less_than_half_the_memory():
    measure_peak(1)  # libraries allocate a workspace at their first call
    assert measure_peak(8) < measure_peak(1) / 2
