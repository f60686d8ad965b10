"""Tests of `GPUMonitor`: the bottleneck found from recorded times, and GPU samples."""

import json
import math
import sys
from types import SimpleNamespace

import pytest

import seqloom as sl
from seqloom.errors import ArgumentError, MissingExtraError
from waiting import FakeTime, wait_until


class DriverError(Exception):
    """A mock of the error class of nvitop."""


class MockGPU:
    """A mock GPU that returns given readings in order, and repeats the last reading."""

    def __init__(self, name, readings):
        self._name, self._readings = name, list(readings)

    def name(self):
        return self._name

    def gpu_utilization(self):
        reading = self._readings[0]
        if len(self._readings) > 1:
            self._readings.pop(0)
        if isinstance(reading, Exception):
            raise reading
        return reading

    def memory_used(self):
        return 1 << 30


@pytest.fixture
def mock_gpus(monkeypatch):
    """Replace the GPUs of nvitop by mocks; one GPU is hidden from CUDA."""

    def install(*shown):
        cuda = SimpleNamespace(all=lambda: list(shown))
        device = SimpleNamespace(is_available=lambda: bool(shown), cuda=cuda)
        nvitop = SimpleNamespace(Device=device, NVMLError=DriverError)
        monkeypatch.setitem(sys.modules, "nvitop", nvitop)

    return install


@pytest.fixture
def clock(monkeypatch):
    """A clock that only the test advances."""
    fake = FakeTime()
    monkeypatch.setattr("seqloom.infer.monitor._clock.time", fake)
    return fake


@pytest.fixture
def watch(clock):
    """Return the monitor of a loop that spends its time in the given activities."""

    def spend(seconds, kind=None):
        monitor = sl.infer.GPUMonitor(interval=60)
        with monitor:
            if kind is None:
                clock.sleep(seconds)
                return monitor
            with monitor.spending(kind):
                clock.sleep(seconds)
        return monitor

    return spend


@pytest.mark.parametrize("kind", ["input", "host", "device", "output"])
def test_the_bottleneck_verdict_names_the_main_use_of_time(kind, watch):
    found = watch(0.05, kind).check_bottleneck()
    assert found.kind == f"{kind}-bound"
    assert found.share > 0.5
    assert f"{found.share:.1%}" in str(found)


def test_the_monitor_attributes_unrecorded_time_to_the_model(watch):
    assert watch(0.05).check_bottleneck().kind == "device-bound"


def test_waiting_for_a_dataloader_makes_a_training_loop_input_bound(clock):
    with sl.infer.GPUMonitor(interval=60) as monitor:
        clock.sleep(0.06)
        monitor.record_dataloader_wait(60)
        clock.sleep(0.04)
    assert monitor.check_bottleneck().kind == "input-bound"
    assert monitor.get_summary()["shares"]["input"] == pytest.approx(0.6)


def test_the_method_wait_for_records_waits_and_yields_batches(clock):
    def slow():
        for number in range(3):
            clock.sleep(0.02)
            yield number

    with sl.infer.GPUMonitor(interval=60) as monitor:
        assert list(monitor.wait_for(slow())) == [0, 1, 2]
    assert monitor.get_summary()["shares"]["input"] == pytest.approx(1)


def test_fractions_of_time_of_a_loop_add_up_to_one(watch):
    assert sum(watch(0.02, "host").get_summary()["shares"].values()) == pytest.approx(1)


def test_gpu_utilization_does_not_change_the_bottleneck_verdict(mock_gpus, watch):
    mock_gpus(MockGPU("H100", [100]))
    found = watch(0.05, "input").check_bottleneck()
    assert found.kind == "input-bound"
    assert "GPU 0 was busy 100% of the time, idle in 0% of samples" in found.sentence


def test_the_gpu_summary_has_average_maximum_minimum_and_idle_fraction(mock_gpus):
    mock_gpus(MockGPU("a", [5, 95, 50, 10]), MockGPU("b", [100]))
    monitor = sl.infer.GPUMonitor()
    for _ in range(4):
        monitor.sample()
    first, second = monitor.get_summary()["gpus"].values()
    assert first["utilization"] == {"average": 0.4, "maximum": 0.95, "minimum": 0.05}
    assert (first["name"], first["samples"], first["idle"]) == ("a", 4, 0.25)
    assert second["idle"] == 0.0
    assert second["memory"]["maximum"] == 1 << 30


def test_the_threshold_for_an_idle_gpu_can_be_set(mock_gpus):
    mock_gpus(MockGPU("a", [45, 55]))
    monitor = sl.infer.GPUMonitor(idle_below=0.5)
    monitor.sample()
    monitor.sample()
    assert monitor.get_summary()["gpus"][0]["idle"] == 0.5


def test_gpu_values_that_the_driver_does_not_report_are_nan(mock_gpus):
    mock_gpus(MockGPU("a", ["N/A", 50]))
    monitor = sl.infer.GPUMonitor()
    assert math.isnan(monitor.sample()[0].utilization)
    monitor.sample()
    assert monitor.get_summary()["gpus"][0]["utilization"]["average"] == 0.5


def test_a_gpu_that_stops_responding_does_not_stop_the_training_loop(mock_gpus):
    mock_gpus(MockGPU("a", [50, DriverError("GPU is lost")]))
    monitor = sl.infer.GPUMonitor()
    assert len(monitor.sample()) == 1
    assert monitor.sample() == ()
    assert "GPU is lost" in monitor.get_summary()["notes"][0]


def test_a_background_thread_samples_the_gpus(mock_gpus):
    mock_gpus(MockGPU("a", [50]))
    with sl.infer.GPUMonitor(interval=0.005) as monitor:
        wait_until(lambda: monitor.get_summary()["gpus"][0]["samples"] >= 3)


def test_without_a_gpu_the_summary_has_a_note_and_nothing_is_printed(
    mock_gpus, capfd, watch
):
    mock_gpus()
    summary = watch(0.01).get_summary()
    assert summary["notes"] == ["no GPU is sampled: NVML found none"]
    assert (summary["gpus"], capfd.readouterr().err) == ({}, "")


def test_the_real_nvitop_prints_nothing_to_stderr(capfd):
    pytest.importorskip("nvitop")
    sl.infer.GPUMonitor().sample()
    assert capfd.readouterr().err == ""


class NVMLError(Exception):
    """A mock of pynvml's error class, which has an error number."""

    def __init__(self, value):
        super().__init__(f"error {value}")
        self.value = value


def read_utilization(handle):
    """Return the utilization of the first mock GPU; raise for the second mock GPU."""
    if handle:
        raise NVMLError(3)
    return SimpleNamespace(gpu=75)


@pytest.fixture
def pynvml_alone(monkeypatch):
    """Install a mock of pynvml with two GPUs, without nvitop."""
    monkeypatch.setitem(sys.modules, "nvitop", None)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    library = SimpleNamespace(
        NVML_ERROR_NOT_SUPPORTED=3,
        NVMLError=NVMLError,
        nvmlInit=lambda: None,
        nvmlDeviceGetCount=lambda: 2,
        nvmlDeviceGetHandleByIndex=lambda number: number,
        nvmlDeviceGetName=lambda handle: f"H{handle}".encode(),
        nvmlDeviceGetUUID=lambda handle: f"GPU-{handle}aaa",
        nvmlDeviceGetUtilizationRates=read_utilization,
        nvmlDeviceGetMemoryInfo=lambda handle: SimpleNamespace(used=1 << (30 + handle)),
    )
    monkeypatch.setitem(sys.modules, "pynvml", library)
    return library


def test_without_nvitop_pynvml_reads_the_gpus(pynvml_alone):
    monitor = sl.infer.GPUMonitor()
    first, second = monitor.sample()
    assert (first.utilization, first.memory) == (0.75, 1 << 30)
    assert (math.isnan(second.utilization), second.memory) == (True, 1 << 31)
    assert monitor.get_summary()["gpus"][0]["name"] == "H0"


@pytest.mark.parametrize(
    ("allowed", "names"),
    [("1,0", ["H1", "H0"]), ("GPU-1", ["H1"]), ("0,7,1", ["H0"]), ("", []), ("-1", [])],
)
def test_pynvml_lists_the_gpus_visible_to_cuda(pynvml_alone, monkeypatch, allowed, names):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", allowed)
    found = sl.infer.GPUMonitor().get_summary()["gpus"]
    assert [gpu["name"] for gpu in found.values()] == names


def test_pynvml_without_a_driver_gives_a_note(pynvml_alone):
    def fail():
        raise NVMLError(12)

    pynvml_alone.nvmlInit = fail
    notes = sl.infer.GPUMonitor().get_summary()["notes"]
    assert notes == ["no GPU is sampled: error 12"]


def test_the_real_pynvml_is_read_without_nvitop(monkeypatch):
    pytest.importorskip("pynvml")
    monkeypatch.setitem(sys.modules, "nvitop", None)
    sl.infer.GPUMonitor().sample()


def test_without_nvitop_and_pynvml_the_error_names_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "nvitop", None)
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.raises(MissingExtraError, match="pip install nvitop"):
        sl.infer.GPUMonitor()


def test_a_training_loop_that_fails_keeps_its_error_and_summary():
    monitor = sl.infer.GPUMonitor()
    with pytest.raises(KeyError), monitor:
        raise KeyError
    assert monitor.get_summary()["seconds"] < 60


def test_the_summary_of_the_monitor_can_be_written_as_json(watch):
    assert json.loads(json.dumps(watch(0.01).get_summary()))["process_memory"] > 0


def test_a_gpu_monitor_that_is_used_again_is_reset(watch, clock):
    monitor = watch(0.05, "input")
    with monitor:
        clock.sleep(0.05)
    assert monitor.check_bottleneck().kind == "device-bound"


@pytest.mark.parametrize("interval", [0, -1, "1", math.nan])
def test_the_sampling_interval_of_the_monitor_must_be_above_0(interval):
    with pytest.raises(ArgumentError, match="interval"):
        sl.infer.GPUMonitor(interval)


@pytest.mark.parametrize("wait", [-0.1, math.inf, "1"])
@pytest.mark.parametrize("unit", ["wait_ms", "seconds"])
def test_a_recorded_dataloader_wait_must_not_be_negative(unit, wait):
    with pytest.raises(ArgumentError, match=unit):
        sl.infer.GPUMonitor().record_dataloader_wait(**{unit: wait})


@pytest.mark.parametrize("waits", [{}, {"wait_ms": 1.0, "seconds": 1.0}])
def test_a_dataloader_wait_in_two_units_is_an_error(waits):
    with pytest.raises(ArgumentError, match="one of wait_ms and seconds"):
        sl.infer.GPUMonitor().record_dataloader_wait(**waits)


def test_a_dataloader_wait_passed_by_position_is_in_milliseconds(clock):
    with sl.infer.GPUMonitor(interval=60) as monitor:
        monitor.record_dataloader_wait(5.0)
        clock.sleep(0.2)
    summary = monitor.get_summary()
    assert summary["shares"]["input"] * summary["seconds"] == pytest.approx(0.005)
    assert monitor.check_bottleneck().kind == "device-bound"


def test_the_summary_has_average_maximum_and_minimum_batch_waits():
    with sl.infer.GPUMonitor(interval=60) as monitor:
        monitor.record_dataloader_wait(5.0)
        monitor.record_dataloader_wait(seconds=0.015)
    waits = monitor.get_summary()["wait_ms"]
    assert waits == pytest.approx({"average": 10.0, "maximum": 15.0, "minimum": 5.0})


def test_the_summary_of_the_monitor_contains_waits_for_batches(monkeypatch):
    times = iter(range(100))
    clock = SimpleNamespace(perf_counter=lambda: float(next(times)))
    monitor = sl.infer.GPUMonitor(interval=60)
    monkeypatch.setattr("seqloom.infer.monitor._clock.time", clock)
    assert list(monitor.wait_for("ab")) == ["a", "b"]
    waits = monitor._waits.as_dict()  # noqa: SLF001 - get_summary reads the clock too
    assert waits == {"average": 1000.0, "maximum": 1000.0, "minimum": 1000.0}


def test_a_dataloader_wait_in_seconds_is_converted_to_milliseconds(clock):
    with sl.infer.GPUMonitor(interval=60) as monitor:
        monitor.record_dataloader_wait(seconds=0.002)
        monitor.record_dataloader_wait(3.0)
        clock.sleep(0.02)
    summary = monitor.get_summary()
    assert summary["shares"]["input"] * summary["seconds"] == pytest.approx(0.005)


@pytest.mark.parametrize(
    ("kind", "is_bottleneck"),
    [("input", True), ("output", True), ("host", True), ("device", False)],
)
def test_a_bottleneck_is_true_unless_the_device_limits_the_speed(
    kind, is_bottleneck, watch
):
    assert bool(watch(0.02, kind).check_bottleneck()) is is_bottleneck


def test_recording_time_for_an_unknown_activity_is_an_error():
    with pytest.raises(ArgumentError, match="kind"):
        sl.infer.GPUMonitor().spending("sleep")
