"""Tests of the timeline of a long loop, and of the detection of growing memory."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, strategies as st

from seqloom.infer.monitor._clock import Timeline, resident_bytes, steady_growth
from seqloom.infer.monitor._monitor import find_bottleneck

MIB = 1 << 20


@given(st.lists(st.floats(0.0001, 100), min_size=1, max_size=3000))
def test_a_timeline_has_limited_rows_and_keeps_its_first_row(gaps):
    timeline, seconds = Timeline(0.05, most=50), np.cumsum(gaps)
    for second in seconds.tolist():
        timeline.add(second, second)
    assert len(timeline.rows) <= 50
    assert timeline.rows[0] == seconds[0]
    assert timeline.rows == sorted(timeline.rows)


def test_the_rows_of_a_timeline_cover_a_long_job_evenly():
    timeline = Timeline(0.05, most=600)
    for second in range(100_000):
        timeline.add(second, second)
    gaps = np.diff(timeline.rows)
    assert 250 <= len(timeline.rows) <= 600
    assert gaps.max() <= 3 * gaps.min()


def test_steadily_growing_memory_is_reported():
    assert steady_growth(np.linspace(1000, 3000, 100).astype(int) * MIB) > 1000 * MIB


def test_memory_that_grows_only_at_the_start_is_not_reported():
    memory = [*range(100, 2100, 100), *[2100] * 80]
    assert steady_growth(np.asarray(memory) * MIB) == 0


def test_memory_growth_that_levels_off_slowly_is_not_reported():
    memory = 3000 - 2000 * np.exp(-np.arange(100) / 15)
    assert steady_growth((memory * MIB).astype(int)) == 0


@given(st.lists(st.integers(1000, 1050), min_size=40, max_size=200))
def test_memory_that_fluctuates_is_not_reported_as_growing(memory):
    assert steady_growth([it * MIB for it in memory]) == 0


def test_monitored_memory_includes_worker_processes():
    held = "x = bytearray(b'1' * (200 << 20)); print(flush=True); input()"
    before = resident_bytes()
    command = [sys.executable, "-c", held]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe) as worker:
        worker.stdout.readline()
        during = resident_bytes()
        worker.communicate(b"\n")
    assert during - before > 150 * MIB


@pytest.mark.parametrize(
    ("shares", "kind"),
    [
        ({"input": 0.11, "output": 0.0, "host": 0.0, "device": 0.89}, "input-bound"),
        ({"input": 0.10, "output": 0.0, "host": 0.0, "device": 0.90}, "device-bound"),
        ({"input": 0.11, "output": 0.2, "host": 0.6, "device": 0.09}, "output-bound"),
        ({"input": 0.05, "output": 0.1, "host": 0.5, "device": 0.35}, "host-bound"),
    ],
)
def test_waits_above_10_percent_of_the_time_are_the_bottleneck(shares, kind):
    assert find_bottleneck(shares, 10.0).kind == kind
