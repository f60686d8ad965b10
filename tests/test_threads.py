import threading

import pytest

from seqloom._system import count_cores
from seqloom._system._machine import _read_cpu_quota
from seqloom._threads import count_threads, run_interruptible
from seqloom.errors import ArgumentError

THREAD_VARIABLES = (
    "SEQLOOM_NUM_THREADS",
    "PST_NUM_THREADS",
    "NUM_THREADS",
    "MKL_NUM_THREADS",
    "OMP_NUM_THREADS",
    "SLURM_CPUS_PER_TASK",
)


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch):
    for name in THREAD_VARIABLES:
        monkeypatch.delenv(name, raising=False)


def test_the_argument_takes_precedence_over_variables_for_threads(monkeypatch):
    monkeypatch.setenv("PST_NUM_THREADS", "7")
    assert count_threads(3) == 3


def test_the_first_thread_variable_that_is_set_takes_precedence(monkeypatch):
    for count, name in enumerate(reversed(THREAD_VARIABLES), 11):
        monkeypatch.setenv(name, str(count))
        assert count_threads() == count


def test_the_first_number_of_omp_num_threads_is_used(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3,2")
    assert count_threads() == 3


@pytest.mark.parametrize("value", ["0", "-1", "many", "1.5"])
def test_a_variable_that_is_not_a_number_is_an_error_that_names_it(monkeypatch, value):
    monkeypatch.setenv("NUM_THREADS", value)
    with pytest.raises(ArgumentError, match="NUM_THREADS must be an integer"):
        count_threads()


def test_a_number_of_threads_below_one_is_an_error():
    with pytest.raises(ArgumentError, match="from 1 to 65536"):
        count_threads(-1)


@pytest.mark.parametrize(
    ("text", "cores"), [("150000 100000", 1.5), ("max 100000", None), ("odd", None)]
)
def test_the_cpu_limit_is_read_from_the_control_group(tmp_path, text, cores):
    (tmp_path / "cpu.max").write_text(text)
    assert _read_cpu_quota(tmp_path) == cores


def test_the_cpu_limit_is_read_from_version_1_control_groups(tmp_path):
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu" / "cpu.cfs_quota_us").write_text("300000\n")
    (tmp_path / "cpu" / "cpu.cfs_period_us").write_text("100000\n")
    assert _read_cpu_quota(tmp_path) == 3


def test_a_cpu_limit_of_half_a_core_gives_one_thread(monkeypatch):
    monkeypatch.setattr("seqloom._system._machine._list_control_groups", lambda: ["group"])
    monkeypatch.setattr("seqloom._system._machine._read_cpu_quota", lambda _: 0.5)
    assert count_cores.__wrapped__() == 1


def test_run_interruptible_returns_the_result_or_raises_the_error():
    looks = []
    assert run_interruptible(lambda: 3, lambda: looks.append(1), stop=lambda: None) == 3
    assert looks
    with pytest.raises(ZeroDivisionError):
        run_interruptible(lambda: 1 / 0, lambda: None, stop=lambda: None)


def test_a_failing_progress_function_stops_the_work():
    stopped = threading.Event()
    with pytest.raises(ZeroDivisionError):
        run_interruptible(stopped.wait, lambda: 1 / 0, stop=stopped.set)
    assert stopped.is_set()
