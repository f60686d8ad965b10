"""Tests that stored exports of every format version still return the stored scores.

Exports of the current version were written by ``python tests/export/test_golden.py`` and
are never replaced; a new format version adds new exports. The sequences are those of the
demo.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import seqloom as sl
from exported import Run, batch_of, manifest

STORED_EXPORTS = Path(__file__).parent / "data"
NETWORK_NAMES = ("cnn", "lstm")
NEWEST_VERSION = 2
NAMES_OF_STORED_EXPORTS = [
    f"version_{at + 1}_{name}" for at in range(NEWEST_VERSION) for name in NETWORK_NAMES
]
SPLICE_TASK = sl.models.Classify(("EI", "IE", "N"))
SEQUENCE_LENGTHS = (30, 24, 30, 17, 9)


def records():
    """Return the first sequences of the demo, cropped to several lengths."""
    path = Path(sl.__file__).parent / "_demo/test.fa.gz"
    with sl.io.open_sequences(path) as reader:
        found = [
            bytes(it.sequence) for it, _ in zip(reader, SEQUENCE_LENGTHS, strict=False)
        ]
    return [
        it[:length].decode() for it, length in zip(found, SEQUENCE_LENGTHS, strict=True)
    ]


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
    """Return the scores of a stored export, in record order."""
    place = STORED_EXPORTS / name
    batch = batch_of(sl.encode.OneHot("dna"), records())
    return SPLICE_TASK.activate(Run(place)(batch))


@pytest.mark.parametrize("name", NAMES_OF_STORED_EXPORTS)
def test_a_stored_export_reproduces_its_stored_scores(name):
    wanted = json.loads((STORED_EXPORTS / f"{name}.json").read_text())
    np.testing.assert_allclose(compute(name), np.array(wanted), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", NAMES_OF_STORED_EXPORTS)
def test_the_manifest_of_a_stored_export_contains_its_version(name):
    assert manifest(STORED_EXPORTS / name)["version"] == int(name.split("_")[1])


@pytest.mark.parametrize("name", NETWORK_NAMES)
def test_exporting_again_gives_the_operations_of_a_stored_export(tmp_path, name):
    encoder = sl.encode.OneHot("dna")
    sl.export.save(network(name), tmp_path / "new", encoder=encoder, task=SPLICE_TASK)
    for file in ("graph.json", "graph-unpadded.json", "encoder.json"):
        new, old = (
            json.loads((it / file).read_text())
            for it in (
                tmp_path / "new",
                STORED_EXPORTS / f"version_{NEWEST_VERSION}_{name}",
            )
        )
        assert without_lines(new) == without_lines(old)


def test_an_export_fuses_batch_norm_scaling_with_the_activation():
    graph = json.loads(
        (STORED_EXPORTS / f"version_{NEWEST_VERSION}_cnn/graph-unpadded.json").read_text()
    )
    groups = [
        [it["name"] for it in graph["operations"][first:end]]
        for first, end in graph["groups"]
    ]
    assert ["scale_shift", "gelu"] in groups


def without_lines(table):
    """Return a graph without the source lines of its operations."""
    rows = [{**it, "line": ""} for it in table.get("operations", [])]
    return {**table, "operations": rows}


if __name__ == "__main__":
    for name in NETWORK_NAMES:
        full = f"version_{NEWEST_VERSION}_{name}"
        encoder = sl.encode.OneHot("dna")
        sl.export.save(
            network(name), STORED_EXPORTS / full, encoder=encoder, task=SPLICE_TASK
        )
        (STORED_EXPORTS / f"{full}.json").write_text(
            json.dumps(compute(full).tolist()) + "\n"
        )
