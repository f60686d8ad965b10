"""Conformance tests run at least 90 % of all samples, and each skip has a reason."""

from collections import Counter

import pytest
from benchmarks.gpu._tests import DIFFERENTIABLE_OPERATIONS, OTHER_OPERATIONS

from conformance.call import FLOAT_DTYPES, Skip
from conformance.operations import (
    OPERATION_TABLE,
    SKIPPED_OPERATIONS,
    SKIPPED_SAMPLES,
    functions,
)
from conformance.samples import convert_sample, samples

pytest.importorskip("torch")
pytest.importorskip("expecttest")

MIN_TESTED_FRACTION = 0.9


def test_every_tensor_function_is_tested_or_omitted_for_a_reason():
    listed = {*OPERATION_TABLE, *SKIPPED_OPERATIONS}
    assert sorted(set(functions()) - listed) == []
    assert sorted(listed - set(functions())) == []


def test_operations_of_the_gpu_tests_are_also_conformance_tests():
    assert {*DIFFERENTIABLE_OPERATIONS, *OTHER_OPERATIONS} - set(OPERATION_TABLE) == set()
    assert {
        name
        for name in DIFFERENTIABLE_OPERATIONS
        if "float64" not in OPERATION_TABLE[name].dtypes
    } == set()


def test_at_least_90_percent_of_operations_are_compared_with_torch(capsys):
    names = functions()
    compared = [name for name in names if name in OPERATION_TABLE]
    with capsys.disabled():
        print(f"\noperations: {len(compared)} of {len(names)} are compared with torch")
        for name, reason in SKIPPED_OPERATIONS.items():
            print(f"  {name}: {reason}")
    assert len(compared) >= MIN_TESTED_FRACTION * len(names)


def test_at_least_90_percent_of_torch_float_samples_are_run(capsys):
    counts = {
        name: _count_samples(name)
        for name in OPERATION_TABLE
        if set(FLOAT_DTYPES) <= set(OPERATION_TABLE[name].dtypes)
    }
    total = Counter[str]()
    for each in counts.values():
        total += each
    run, every = total["run"], sum(total.values())
    with capsys.disabled():
        print(f"\nsamples of float32 and float64: {run} of {every} are run")
        for reason, count in total.most_common():
            if reason != "run":
                print(f"  {count} x {reason}: {SKIPPED_SAMPLES[reason]}")
    assert run >= MIN_TESTED_FRACTION * every
    assert [name for name, each in counts.items() if not each["run"]] == []


def _count_samples(name):
    """Count the samples of an operation that are run, and the skipped samples by reason."""
    counts = Counter[str]()
    for dtype in FLOAT_DTYPES:
        for info, sample in samples(OPERATION_TABLE[name], dtype):
            call, _ = convert_sample(OPERATION_TABLE[name], info, sample)
            counts[call.reason if isinstance(call, Skip) else "run"] += 1
    return counts
