"""Effects of variants are those of whole passes, which are the oracle."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import seqloom as sl
from seqloom._ragged import Ragged

F = sl.nn.functional
WIDTH = 121


class Network(sl.nn.Module):
    """Convolutions with a residual, and outputs at each position or one output."""

    stem: sl.nn.Conv1d
    body: list[sl.nn.Conv1d]
    head: sl.nn.Conv1d

    def __init__(self, *, crop: int, has_positions: bool) -> None:
        self.stem = sl.nn.Conv1d(4, 8, 5, padding="same")
        self.body = [
            sl.nn.Conv1d(8, 8, 3, padding="same", dilation=dilation)
            for dilation in (1, 2, 4)
        ]
        self.head = sl.nn.Conv1d(8, 2, 1)
        self.crop, self.has_positions = crop, has_positions

    def __call__(self, x: sl.tensor.Tensor) -> sl.tensor.Tensor:
        x = F.relu(self.stem(x))
        for layer in self.body:
            x = x + F.relu(layer(x))
        x = self.head(x)[:, :, self.crop : x.shape[2] - self.crop]
        return x if self.has_positions else x.mean(2)


def draw_variants(seed: int, genome: str) -> Any:
    """Substitutions, insertions, deletions and MNPs, some at one position."""
    rng = np.random.default_rng(seed)
    rows: list[tuple[int, str, str]] = []
    for _ in range(8):
        start = int(rng.integers(1, len(genome) - 12))
        refs = [genome[start : start + int(rng.integers(1, 9))] for _ in range(2)]
        added = "".join(rng.choice(list("ACGT"), int(rng.integers(1, 9))))
        base = "ACGT".replace(genome[start], "")[int(rng.integers(3))]
        rows += [(start, genome[start], base), (start, refs[0], added + base)]
        rows += [(start, refs[1] + genome[start + len(refs[1])], genome[start])]
        rows.append((start, genome[start], genome[start] + added))
    return make_batch(sorted(rows))


def make_batch(rows: list[tuple[int, str, str]]) -> Any:
    """Return a batch of records (position from 0, REF, ALT)."""
    starts, refs, alts = zip(*rows, strict=True)
    return SimpleNamespace(
        chrom_codes=np.zeros(len(rows), np.int32),
        chrom_names=["chr1"],
        starts=np.array(starts),
        ids=Ragged.from_list(["."] * len(rows)),
        refs=Ragged.from_list(refs),
        alts=Ragged.from_list(alts),
        lines=np.arange(len(rows)) + 1,
    )


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    seed=st.integers(0, 1000),
    crop=st.sampled_from([0, 9, 20]),
    both_strands=st.booleans(),
    shifts=st.sampled_from([(0,), (-3, 5)]),
    rule=st.sampled_from([("left", None), ("both", None), ("left", 10), ("spliceai", 10)]),
    has_genes=st.booleans(),
)
def test_effects_are_those_of_whole_passes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, **drawn: Any
) -> None:
    """All rules of windows, with the same network on both paths (10 s)."""
    seed, (indels, within) = drawn["seed"], drawn["rule"]
    rng = np.random.default_rng(seed)
    genome = "".join(rng.choice(list("AC" if seed % 4 == 0 else "ACGT"), 400))
    path = tmp_path / f"{seed}.fa"
    path.write_text(f">chr1\n{genome}\n")
    model = Network(crop=drawn["crop"], has_positions=within is not None)
    model.bind("numpy", sl.Key(seed)).eval()
    genes = {"name": ["a", "b"], "chrom": ["chr1"] * 2, "start": [30, 120]}
    genes |= {"stop": [280, 390], "strand": ["+", "-"]}
    options: dict[str, Any] = {
        "width": WIDTH,
        "within": within,
        "reverse_complement": drawn["both_strands"],
        "shifts": (0,) if within is not None else drawn["shifts"],
        "indels": indels,
        "genes": genes if drawn["has_genes"] else None,
        "num_threads": 1,
    }
    batch = draw_variants(seed, genome)
    found = sl.infer.variant_effects(model, batch, path, **options)
    with monkeypatch.context() as patch:
        patch.setattr(
            "seqloom.infer._variant_networks.find_changed_passes", lambda *_: None
        )
        expected = sl.infer.variant_effects(model, batch, path, **options)
    assert found.status == expected.status
    for name in expected.columns:
        if "position" not in name:
            np.testing.assert_allclose(found[name], expected[name], atol=1e-6, rtol=0)


@pytest.mark.parametrize("indels", ["left", "spliceai"])
def test_an_effect_does_not_depend_on_neighbouring_variants(
    tmp_path: Path, indels: Any
) -> None:
    genome = "".join(np.random.default_rng(0).choice(list("ACGT"), 400))
    path = tmp_path / "genome.fa"
    path.write_text(f">chr1\n{genome}\n")
    model = Network(crop=9, has_positions=True).bind("numpy", sl.Key(1)).eval()
    rows = [
        (at, genome[at], "ACGT".replace(genome[at], "")[0]) for at in range(150, 260, 7)
    ]
    rows += [(at, genome[at], genome[at] + "ACG") for at in range(153, 260, 9)]
    rows += [(at, genome[at : at + 5], genome[at]) for at in range(155, 260, 11)]

    def run(rows: list[tuple[int, str, str]]) -> Any:
        options: dict[str, Any] = {"width": WIDTH, "within": 10, "indels": indels}
        return sl.infer.variant_effects(model, make_batch(rows), path, **options)

    together, alone = run(rows), [run([row]) for row in rows]
    for name, column in together.columns.items():
        assert column.tolist() == [effects[name][0] for effects in alone]
