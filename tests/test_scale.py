"""The benchmark of time and memory over input size: its coverage and its slopes."""

import math

import pytest
from benchmarks.scale._growth import growth_exponent
from benchmarks.scale._sweeps import LIBRARIES_OF_OPERATION, SWEEPS, Sweep

MEASURED_OPERATIONS = ["parse", "encode", "load", "train step", ".bed read", "predict"]
GROWING_PARAMETERS = {"records", "length", "variants", "parameters", "threads"}


@pytest.mark.parametrize("power", [-1.0, 0.0, 0.5, 1.0, 2.0])
def test_the_slope_of_a_power_law_is_its_exponent(power: float):
    sizes = [1e2, 1e3, 1e4, 1e5]
    assert growth_exponent(sizes, [7 * size**power for size in sizes]) == pytest.approx(
        power
    )


def test_the_slope_uses_only_the_largest_sizes():
    assert growth_exponent(
        [1e2, 1e3, 1e4, 1e5], [9, 1, 10, 100], decades=2
    ) == pytest.approx(1)


def test_the_slope_is_a_least_squares_fit():
    # The points are (0, 0), (1, 0) and (2, 3), so the least-squares slope is 3 / 2.
    assert growth_exponent([1, 10, 100], [1, 1, 1000]) == pytest.approx(1.5)


def test_a_sweep_with_one_size_has_no_slope():
    assert math.isnan(growth_exponent([1], [5]))


def test_every_measured_operation_has_a_growing_parameter():
    assert {sweep.operation for sweep in SWEEPS} == set(MEASURED_OPERATIONS)


def test_every_sweep_axis_has_a_growing_parameter():
    assert {sweep.axis for sweep in SWEEPS} == GROWING_PARAMETERS


@pytest.mark.parametrize("sweep", SWEEPS, ids=lambda sweep: sweep.name)
def test_sweep_sizes_span_a_factor_of_1000_or_the_number_of_cores(sweep: Sweep):
    # The numbers of cores of a machine do not span three orders of magnitude.
    assert sweep.axis == "threads" or sweep.values[-1] == 1000 * sweep.values[0]


@pytest.mark.parametrize("operation", MEASURED_OPERATIONS)
def test_every_measured_operation_has_a_competitor_and_a_lower_bound(operation: str):
    assert len(LIBRARIES_OF_OPERATION[operation]) >= 3
