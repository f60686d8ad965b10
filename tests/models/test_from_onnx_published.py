"""The ONNX file of a published tool gives the decisions of the tool's command."""

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import seqloom as sl
from ribosomal import READ_ENCODER, READ_LENGTH, decide, published, write_pairs

pytest.importorskip("onnx")
MIN_LOGIT_DIFFERENCE = (
    1e-4  # Differences of the two logits below this limit depend on rounding.
)


@pytest.fixture(scope="module")
def network():
    path = published()
    return sl.models.from_onnx(path, encoder=READ_ENCODER, length=READ_LENGTH, pair="sum")


def logits_of(network, pair):
    """Return the summed logits of both mates, by the name of the read pair."""
    # A regression without standardisation predicts the numbers before the softmax.
    task = sl.models.Regress(("no", "yes"), mean=(0.0, 0.0), deviation=(1.0, 1.0))
    trained = sl.models.Trained(network, READ_ENCODER, task, batch_size=256)
    mates = [sl.infer.predict(trained, str(path)) for path in pair]
    names = [name.split("/")[0] for name in mates[0].ids]
    rows = np.add(*(it.to_numpy() for it in mates))
    return {name: row for name, row in zip(names, rows, strict=True)}  # noqa: C416


def compare_decisions(found, theirs, count):
    """Compare the pairs classified as ribosomal with `theirs`, except for close logits."""
    assert len(found) == count
    assert count / 10 < len(theirs) < count * 9 / 10  # both are frequent
    differing = {
        name for name, (no, yes) in found.items() if (yes > no) != (name in theirs)
    }
    close = {
        name for name, (no, yes) in found.items() if abs(yes - no) < MIN_LOGIT_DIFFERENCE
    }
    assert differing <= close
    assert len(close) <= count / 100


@pytest.mark.parametrize(
    ("count", "seed"), [(600, 0), pytest.param(20_000, 1, marks=pytest.mark.soak)]
)
def test_each_read_pair_gets_the_decision_of_the_published_command(
    network, tmp_path, count, seed
):
    pair = write_pairs(tmp_path, count, seed=seed)
    compare_decisions(logits_of(network, pair), decide(tmp_path, pair), count)


@pytest.mark.parametrize(
    ("count", "seed"), [(300, 2), pytest.param(20_000, 3, marks=pytest.mark.soak)]
)
def test_the_exported_network_decides_like_the_published_command(
    network, tmp_path, count, seed
):
    command = Path(sl.__file__).parent / "_rust" / "seqloom-run"
    if not command.exists():
        pytest.skip("seqloom-run is not built")
    sl.export.save(
        network, tmp_path / "ribo.seqloom", task=sl.models.Classify(("no", "yes"))
    )
    pair = write_pairs(tmp_path, count, seed=seed)
    table = tmp_path / "scores.tsv"
    options = ["predict", tmp_path / "ribo.seqloom", *pair, "--out", table, "--quiet"]
    subprocess.run([command, *options], check=True)
    scores = sl.infer.Scores.read_tsv(table)
    with np.errstate(divide="ignore"):
        rows = np.log(scores.to_numpy())
    names = [name.split("/")[0] for name in scores.ids]
    found = dict(zip(names, rows, strict=True))
    compare_decisions(found, decide(tmp_path, pair), count)


def test_logits_match_onnx_runtime(network):
    import onnxruntime

    session = onnxruntime.InferenceSession(str(published()))
    reads = ["ACGT" * 25, "GGNA" * 30, "A", "N" * 40, "ACGUacgt" * 9, "CAT" * 40]
    x = READ_ENCODER.batch(reads, length=120)
    theirs: Any
    (theirs,) = session.run(None, {"input": x[:, :READ_LENGTH]})
    np.testing.assert_allclose(network.logits(x).numpy(), theirs, rtol=1e-3, atol=2e-5)


def test_the_captured_network_selects_one_position_of_each_record(network, tmp_path):
    sl.export.save(network, tmp_path / "ribo.seqloom")
    graph = json.loads((tmp_path / "ribo.seqloom" / "graph.json").read_text())
    names = [it["name"] for it in graph["operations"]]
    assert names.count("lstm") == 2
    assert names.count("take_along_axis") == 1
    assert not {"nonzero", "take", "permute_dims", "stack"}.intersection(names)
    facts = json.loads((tmp_path / "ribo.seqloom" / "export.json").read_text())
    assert (facts["length"], facts["crop"], facts["pair"]) == (READ_LENGTH, "pad", "sum")


def test_a_published_network_is_trained_further_and_exported(network, tmp_path):
    first, _ = write_pairs(tmp_path, 64)
    rows = "".join(f"pair{number}/1\t{number % 2}\n" for number in range(64))
    (tmp_path / "labels.tsv").write_text("id\tlabel\n" + rows)
    data = sl.data.SequenceDataset(
        first, labels=tmp_path / "labels.tsv", encoder=READ_ENCODER
    )
    net = network.map(lambda _, x: x).freeze("LSTM_*")
    run = sl.train.fit(net, data, epochs=2, out=tmp_path / "run", progress=False)
    before, after = network.to_record(), run.trained.model.to_record()
    assert not np.array_equal(before["out.weight"], after["out.weight"])
    np.testing.assert_array_equal(before["LSTM_229.forward"], after["LSTM_229.forward"])
    sl.export.save(run.trained, tmp_path / "out.seqloom")
    assert (tmp_path / "out.seqloom" / "model.safetensors").exists()
