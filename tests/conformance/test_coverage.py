"""How many operations and samples the suite runs, and why it leaves out the others."""

from collections import Counter

import pytest
from benchmarks.gpu._tests import OTHERS, SMOOTH

from conformance.call import FLOATS, Skip
from conformance.operations import REASONS, TABLE, WITHOUT_SAMPLES, functions
from conformance.samples import samples, told

pytest.importorskip("torch")
pytest.importorskip("expecttest")

ENOUGH = 0.9


def test_every_function_is_compared_or_left_out_with_a_reason():
    listed = {*TABLE, *WITHOUT_SAMPLES}
    assert sorted(set(functions()) - listed) == []
    assert sorted(listed - set(functions())) == []


def test_the_sample_that_a_card_runs_is_of_operations_that_are_compared():
    assert {*SMOOTH, *OTHERS} - set(TABLE) == set()
    assert {name for name in SMOOTH if "float64" not in TABLE[name].dtypes} == set()


def test_nine_of_ten_operations_are_compared(capsys):
    names = functions()
    compared = [name for name in names if name in TABLE]
    with capsys.disabled():
        print(f"\noperations: {len(compared)} of {len(names)} are compared with torch")
        for name, reason in WITHOUT_SAMPLES.items():
            print(f"  {name}: {reason}")
    assert len(compared) >= ENOUGH * len(names)


def test_nine_of_ten_samples_of_floats_are_run(capsys):
    counts = {
        name: _counted(name) for name in TABLE if set(FLOATS) <= set(TABLE[name].dtypes)
    }
    total = Counter[str]()
    for each in counts.values():
        total += each
    run, every = total["run"], sum(total.values())
    with capsys.disabled():
        print(f"\nsamples of float32 and float64: {run} of {every} are run")
        for reason, count in total.most_common():
            if reason != "run":
                print(f"  {count} x {reason}: {REASONS[reason]}")
    assert run >= ENOUGH * every
    assert [name for name, each in counts.items() if not each["run"]] == []


def _counted(name):
    """How many samples of an operation are run, and how many not for each reason."""
    found = Counter[str]()
    for dtype in FLOATS:
        for info, sample in samples(TABLE[name], dtype):
            call, _ = told(TABLE[name], info, sample)
            found[call.reason if isinstance(call, Skip) else "run"] += 1
    return found
