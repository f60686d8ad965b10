"""Tests of training in process groups on one GPU: sums by NCCL, and torchrun."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cuda_device
import seqloom as sl
from fit_arguments import as_arguments
from seqloom.train import _fit

torch: Any = pytest.importorskip("torch")

pytestmark = cuda_device.on_device
RANKS_SCRIPT = Path(__file__).with_name("train_by_ranks.py")


@pytest.fixture
def ranks(tmp_path, monkeypatch):
    """A process group of one process that sums arrays on a GPU with NCCL."""
    from seqloom.train._torch_ranks import TorchRanks  # after importorskip("torch")

    for library in ("GLOO", "NCCL"):
        monkeypatch.setenv(f"{library}_SOCKET_IFNAME", "lo")
    kinds = "cpu:gloo,cuda:nccl" if cuda_device.DEVICE_NAME == "cuda" else "gloo"
    place = f"file://{tmp_path}/store"
    torch.distributed.init_process_group(kinds, rank=0, world_size=1, init_method=place)
    yield TorchRanks(0, 1)
    torch.distributed.destroy_process_group()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64"])
def test_a_sum_of_arrays_keeps_dtype_and_device(ranks, dtype):
    b = sl.tensor.backend(cuda_device.TORCH)
    arrays = [b.tensor(values).astype(dtype).raw for values in ([[1, 0, 1]], 1)]
    for found, array in zip(ranks.sum_arrays(arrays, b), arrays, strict=True):
        assert (found.dtype, found.device) == (array.dtype, array.device)
        assert torch.equal(found, array)


def test_a_process_group_of_one_trains_like_a_single_process(
    ranks, toy, small, monkeypatch
):
    options: dict[str, Any] = {"epochs": 2, "batch_size": 16, "report": False}
    alone = sl.train.fit(small, toy(), **as_arguments(backend=cuda_device.TORCH, **options))
    monkeypatch.setattr(_fit, "find_ranks", lambda: ranks)
    joined = sl.train.fit(
        small, toy(), **as_arguments(backend=cuda_device.TORCH, **options)
    )
    expected = alone.model.to_record()
    for path, values in joined.model.to_record().items():
        np.testing.assert_allclose(values, expected[path], 1e-3, 1e-4, err_msg=path)


def test_a_process_of_torchrun_trains_on_the_device(tmp_path):
    words = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    words += [
        "--nproc-per-node=1",
        RANKS_SCRIPT,
        tmp_path / "run",
        cuda_device.TORCH,
        "train",
    ]
    variables = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(words, check=False, capture_output=True, text=True, env=variables)
    assert done.returncode == 0, done.stderr
    history = sl.record.load(tmp_path / "run/checkpoint/last.safetensors").metadata
    assert history["step_count"] == 14
