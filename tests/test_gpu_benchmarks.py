"""The benchmark of training on a GPU: its networks and its tables."""

import pytest
from benchmarks.gpu._training import tables
from benchmarks.tensor._networks import Setup, batch_of
from benchmarks.tensor._sides import SIDES


def test_the_dilated_network_has_the_losses_of_its_torch_twin():
    pytest.importorskip("torch")
    setup = Setup(name="dilated", rows=2, length=64)
    ours, theirs = (
        [side.step(side.prepare(batch_of(setup.network))) for _ in range(3)]
        for side in (SIDES["numpy"](setup), SIDES["torch eager"](setup))
    )
    assert ours == pytest.approx(theirs, rel=1e-5)


SIDE = {"samples_per_second": 2000.0, "spread": 0.03, "peak_bytes": 5 * 2**20}
COMPARED = {
    "what": "training step",
    "network": "encoder",
    "dtype": "bfloat16",
    "mode": "eager",
    "rows": 64,
    "length": 256,
    "sides": {"ours on torch": SIDE, "torch eager": SIDE | {"samples_per_second": 1500.0}},
    "ratio": 0.75,
    "difference": 1e-3,
    "tolerance": 2e-2,
}


def test_a_comparison_is_a_row_for_each_side():
    (steps,) = tables([COMPARED])
    ours, theirs = steps.splitlines()[2:]
    first = "encoder, 64 x 256 | bfloat16, eager"
    assert ours.startswith(f"| {first} | ours on torch | 2,000 | 3 % | 5 MiB |")
    assert theirs.startswith(f"| {first} | torch eager | 1,500 | 3 % | 5 MiB |")
    assert "**0.75**" in theirs


def test_losses_that_differ_are_listed_as_a_failure():
    steps, missing = tables([COMPARED | {"failed": "the losses differ"}])
    assert "1.0e-03, too large (2e-02)" in steps
    assert "- training step (encoder, bfloat16, eager): the losses differ" in missing


def test_a_skipped_item_is_listed_with_its_reason():
    (missing,) = tables([{"what": "one item", "skipped": "3 s are left"}])
    assert missing.endswith("- one item: 3 s are left")


def test_a_step_that_waits_is_reported_with_its_place():
    side = {"synchronises": True, "message": "item (a.py:3)"}
    facts = {"network": "encoder", "dtype": "float32", "is_detected": True}
    (loops,) = tables(
        [{"what": "training synchronisation", **facts, "ours on torch": side}]
    )
    assert (
        "encoder in float32 waits for the GPU: ours on torch: yes, item (a.py:3)" in loops
    )
