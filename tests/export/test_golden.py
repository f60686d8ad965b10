"""An export of every format version with its scores, which every later version reads.

Those of the present version were written by ``python tests/export/test_golden.py`` and are
never written again; a new version adds its own. The letters are of the demo's sequences.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import seqloom as sl
from exported import Run, batch_of, manifest

GOLDEN = Path(__file__).parent / "data"
NAMES = ("cnn", "lstm")
NEWEST = 2
ALL = [f"version_{at + 1}_{name}" for at in range(NEWEST) for name in NAMES]
TASK = sl.models.Classify(("EI", "IE", "N"))
LENGTHS = (30, 24, 30, 17, 9)


def records():
    """The first sequences of the demo, cut to several lengths."""
    path = Path(sl.__file__).parent / "_demo/test.fa.gz"
    with sl.io.open_sequences(path) as reader:
        found = [bytes(it.sequence) for it, _ in zip(reader, LENGTHS, strict=False)]
    return [it[:length].decode() for it, length in zip(found, LENGTHS, strict=True)]


def network(name):
    """A small network of each kind."""
    from exported_networks import Recurrent, ready

    if name == "lstm":
        model = Recurrent()
        model.head = sl.nn.Linear(12, 3)
        return ready(model)
    config = sl.models.SequenceCNNConfig(channels=4, outputs=3, widths=(6, 6))
    return ready(config.build())


def compute(name):
    """The scores of a golden export, in the order of the records."""
    place = GOLDEN / name
    batch = batch_of(sl.encode.OneHot("dna"), records())
    return TASK.activate(Run(place)(batch))


@pytest.mark.parametrize("name", ALL)
def test_a_stored_export_gives_its_stored_scores(name):
    wanted = json.loads((GOLDEN / f"{name}.json").read_text())
    np.testing.assert_allclose(compute(name), np.array(wanted), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ALL)
def test_a_stored_export_has_the_current_version(name):
    assert manifest(GOLDEN / name)["version"] == int(name.split("_")[1])


@pytest.mark.parametrize("name", NAMES)
def test_the_writer_produces_the_operations_of_the_stored_export(tmp_path, name):
    encoder = sl.encode.OneHot("dna")
    sl.export.save(network(name), tmp_path / "new", encoder=encoder, task=TASK)
    for file in ("graph.json", "graph-unpadded.json", "encoder.json"):
        new, old = (
            json.loads((it / file).read_text())
            for it in (tmp_path / "new", GOLDEN / f"version_{NEWEST}_{name}")
        )
        assert without_lines(new) == without_lines(old)


def test_scale_and_activation_are_fused():
    graph = json.loads((GOLDEN / f"version_{NEWEST}_cnn/graph-unpadded.json").read_text())
    groups = [
        [it["name"] for it in graph["operations"][first:end]]
        for first, end in graph["groups"]
    ]
    assert ["scale_shift", "gelu"] in groups


def without_lines(table):
    """A graph without the lines of the program that called its operations."""
    rows = [{**it, "line": ""} for it in table.get("operations", [])]
    return {**table, "operations": rows}


if __name__ == "__main__":
    for name in NAMES:
        full = f"version_{NEWEST}_{name}"
        encoder = sl.encode.OneHot("dna")
        sl.export.save(network(name), GOLDEN / full, encoder=encoder, task=TASK)
        (GOLDEN / f"{full}.json").write_text(json.dumps(compute(full).tolist()) + "\n")
