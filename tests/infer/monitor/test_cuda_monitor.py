"""Tests of `GPUMonitor` on a GPU: name, memory, and utilization during training."""

import math
from typing import Any

import pytest

import cuda_device
import seqloom as sl
from seqloom.infer.monitor._gpus import is_installed

torch: Any = pytest.importorskip("torch")

pytestmark = [
    pytest.mark.skipif(not is_installed(), reason="needs nvitop or pynvml"),
    cuda_device.on_device,
]


def test_the_monitor_of_a_gpu_run_reports_a_bottleneck(toy, small):
    with sl.infer.GPUMonitor(interval=0.05) as monitor:
        sl.train.fit(small, toy(), epochs=2, backend=cuda_device.TORCH)
    assert sum(monitor.get_summary()["shares"].values()) == pytest.approx(1)
    assert str(monitor.check_bottleneck())


@cuda_device.on_cuda
def test_the_summary_of_the_monitor_has_the_name_of_the_gpu(toy, small):
    with sl.infer.GPUMonitor(interval=0.05) as monitor:
        sl.train.fit(small, toy(500), epochs=3, backend=cuda_device.TORCH)
    first = monitor.get_summary()["gpus"][0]
    assert first["name"] == torch.cuda.get_device_name()
    assert first["samples"] > 0


@cuda_device.on_cuda
def test_a_gpu_sample_has_at_least_the_memory_of_this_process():
    held = torch.zeros(64 << 20, dtype=torch.uint8, device="cuda")
    sample, *_ = sl.infer.GPUMonitor().sample()
    assert sample.memory >= held.nbytes
    assert math.isnan(sample.utilization) or 0 <= sample.utilization <= 1
