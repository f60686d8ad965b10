"""The GPU benchmarks: networks, timeouts and tables."""

import signal
import subprocess
from pathlib import Path

import pytest
from benchmarks.gpu import _run
from benchmarks.gpu._device import PUBLISHED_GPU_SPEEDS, find_published_speed
from benchmarks.gpu._result_page import make_page
from benchmarks.gpu._results import RESULTS_FILE, has_failed, read_results
from benchmarks.gpu._training import make_tables
from benchmarks.tensor._libraries import BUILDER_OF_LIBRARY
from benchmarks.tensor._networks import MeasurementSetup, draw_batch

from waiting import wait_until


def test_the_dilated_network_has_the_losses_of_its_pytorch_version():
    pytest.importorskip("torch")
    setup = MeasurementSetup(name="dilated", rows=2, length=64)
    ours, theirs = (
        [side.step(side.prepare_batch(draw_batch(setup.network))) for _ in range(3)]
        for side in (
            BUILDER_OF_LIBRARY["numpy"](setup),
            BUILDER_OF_LIBRARY["torch eager"](setup),
        )
    )
    assert ours == pytest.approx(theirs, rel=1e-5)


LIBRARY_MEASUREMENT = {
    "samples_per_second": 2000.0,
    "spread": 0.03,
    "peak_bytes": 5 * 2**20,
}
COMPARISON_RESULT = {
    "what": "training step",
    "network": "encoder",
    "dtype": "bfloat16",
    "mode": "eager",
    "rows": 64,
    "length": 256,
    "sides": {
        "ours on torch": LIBRARY_MEASUREMENT,
        "torch eager": LIBRARY_MEASUREMENT | {"samples_per_second": 1500.0},
    },
    "ratio": 0.75,
    "difference": 1e-3,
    "tolerance": 2e-2,
}


def test_a_comparison_has_one_row_for_each_library():
    steps, _ = make_tables([COMPARISON_RESULT])
    ours, theirs = steps.splitlines()[2:]
    first = "encoder, 64 x 256 | bfloat16, eager"
    assert ours.startswith(f"| {first} | ours on torch | 2,000 | 3 % | 5 MiB |")
    assert theirs.startswith(f"| {first} | torch eager | 1,500 | 3 % | 5 MiB |")
    assert "**1.33**" in theirs  # 2,000 / 1,500 samples a second


MACHINE_RESULT = {
    "what": "machine",
    "device": "some GPU",
    "processor": "some CPU",
    "python": "3.12",
    "versions": {"torch": "2.11", "jax": None},
}


def test_losses_that_differ_are_reported_as_a_failure():
    result = COMPARISON_RESULT | {"part": "training", "failed": "the losses differ"}
    steps, _, rest, _ = make_page([result], MACHINE_RESULT)
    assert "1.0e-03, too large (2e-02)" in steps
    name = "training, training step, encoder, bfloat16, eager"
    assert f"- {name}: **failed**: the losses differ" in rest


def test_a_skipped_benchmark_is_listed_with_its_reason():
    item = {"part": "training", "what": "one item", "skipped": "3 s are left"}
    *_, rest, machine = make_page([item], MACHINE_RESULT)
    assert rest.endswith("- training, one item: skipped: 3 s are left")
    assert machine == "Measured on some GPU, some CPU, CPython 3.12, torch 2.11."


def is_running(pid):
    """Return whether a process exists and is not a zombie."""
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"


HANGING_SCRIPT = """
import subprocess, sys, time

def run_benchmark(results):
    results.add("first", ok=True)
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    results.add("child", pid=child.pid)
    time.sleep(600)
"""


def test_a_benchmark_that_hangs_is_killed_and_keeps_its_results(tmp_path, monkeypatch):
    wait, results = subprocess.Popen.wait, tmp_path / "out" / RESULTS_FILE

    def wait_for_results(process, timeout=None):
        """Simulate a timeout as soon as the benchmark has written its results."""
        if timeout is None:
            return wait(process)
        wait_until(lambda: '"child"' in results.read_text())
        return wait(process, 0.1)

    (tmp_path / "part_that_hangs.py").write_text(HANGING_SCRIPT)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{Path(__file__).parents[1]}")
    monkeypatch.setitem(_run.MODULE_AND_SECONDS_OF_PART, "check", ("part_that_hangs", 12))
    monkeypatch.setattr(subprocess.Popen, "wait", wait_for_results)
    assert _run.run_parts(results.parent, ["check"], "cpu", is_tiny=True) == 1
    _, first, child, end = read_results(results)
    assert first["ok"]
    assert end["failed"] == "killed after its limit of 12 s"
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    wait_until(lambda: not is_running(child["pid"]))


def test_a_step_that_waits_for_the_gpu_is_reported_with_its_line():
    side = {"synchronises": True, "message": "item (a.py:3)"}
    fields = {"network": "encoder", "dtype": "float32", "is_detected": True}
    result = {"what": "training synchronisation", **fields, "ours on torch": side}
    (line,) = make_tables([result])
    assert line.endswith(
        "encoder in float32 waits for the GPU: ours on torch: yes, item (a.py:3)."
    )


def test_a_folder_with_results_is_not_overwritten(tmp_path):
    (tmp_path / RESULTS_FILE).write_text("an earlier run")
    with pytest.raises(SystemExit, match="exists: choose another folder"):
        _run.run_parts(tmp_path, ["check"], "cpu", is_tiny=True)
    assert (tmp_path / RESULTS_FILE).read_text() == "an earlier run"


SUMMARY_OF_GPU_TESTS = {
    "part": "tests",
    "what": "summary",
    "passed": 1,
    "failed": 0,
    "skipped": 0,
    "unfinished": 0,
    "not_run": 7,
}


def test_a_summary_of_gpu_tests_without_failures_is_not_a_failure():
    assert not has_failed(SUMMARY_OF_GPU_TESTS)


def test_gpu_tests_that_did_not_run_are_counted():
    test = {"part": "tests", "what": "test_a.py::test_b", "outcome": "passed"}
    counts, _ = make_page([test, SUMMARY_OF_GPU_TESTS], MACHINE_RESULT)
    assert counts == (
        "Tests on the device: 1 passed, 0 skipped, 0 failed, 0 unfinished, 7 not run."
    )


@pytest.mark.parametrize(
    ("device", "words"),
    [
        ("NVIDIA H100 80GB HBM3", "H100"),
        ("NVIDIA H200 NVL", "H200 NVL"),
        ("NVIDIA A100-SXM4-80GB", "A100"),
        ("NVIDIA L40S", "L40S"),
    ],
)
def test_a_known_gpu_has_the_peak_rate_of_its_data_sheet(device, words):
    assert find_published_speed(device) == PUBLISHED_GPU_SPEEDS[words]


@pytest.mark.parametrize(
    "device", ["NVIDIA A10G", "NVIDIA RTX A4000", "NVIDIA L40", "NVIDIA H100 MIG 1g.10gb"]
)
def test_a_gpu_with_a_similar_name_has_no_peak_rate(device):
    assert find_published_speed(device) is None


def test_inference_names_the_library_that_differs_from_seqloom():
    common = {"part": "inference", "what": "inference", "size": "8M", "dtype": "float16"}
    figures = {"tokens": 100, "operations": 1e9, "product_rate": 1e9, "peak": None}
    ours, theirs = (
        common | figures | {"side": side, "seconds": [1.0, 1.0, 2.0], **fields}
        for side, fields in (
            ("seqloom, packed", {"cosine": 1.0, "ok": True}),
            ("Hugging Face", {"cosine": 0.5, "ok": False}),
        )
    )
    sides, _, rest, _ = make_page([ours, theirs], MACHINE_RESULT)
    row = "| 8M, float16 | Hugging Face | 100 | 100.0% | **1.00** |  | 1.000 |  |"
    assert f"{row} 0.5000 (too low) |" in sides
    assert "- inference, inference, 8M, float16, Hugging Face: **failed**" in rest
