"""``seqloom train embeddings/`` trains a head on the output of ``seqloom embed``."""

from typing import Any

import numpy as np
import pytest

import seqloom as sl
from seqloom import _demo


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A network, proteins rich or poor in one residue, their labels and embeddings."""
    folder = tmp_path_factory.mktemp("embeddings")
    config = sl.models.ESM2Config(layers=1, width=16, heads=4)
    model = config.init("numpy", sl.Key(3)).eval()
    rng = np.random.default_rng(0)
    for part, count in (("train", 160), ("test", 60)):
        names = [f"{part}{number}" for number in range(count)]
        letters = [
            "".join(rng.choice([*("ACDEFG" if i % 2 else "ACDEFGWWW")], 15 + i % 4))
            for i in range(count)
        ]
        fasta = [f">{it}\n{text}\n" for it, text in zip(names, letters, strict=True)]
        (folder / f"{part}.fa").write_text("".join(fasta))
        rows = [f"{it}\t{['rich', 'poor'][i % 2]}\n" for i, it in enumerate(names)]
        (folder / f"{part}.tsv").write_text("id\tlabel\n" + "".join(rows))
        options: Any = {"shard_size": 50, "layers": (0, -1)}
        sl.infer.embed(model, folder / f"{part}.fa", out=folder / part, **options)
    return folder


@pytest.fixture(scope="module")
def run(home):
    data = sl.data.EmbeddingDataset(sl.infer.load(home / "train"), home / "train.tsv")
    config = sl.models.HeadConfig.for_data(data)
    out = home / "run"
    return sl.train.fit(
        config, data, epochs=10, lr=1e-2, out=sl.train.RunFolder(out, report=False)
    )


def test_a_model_can_be_trained_evaluated_and_applied_on_embeddings(call, home, tmp_path):
    labels = ["--labels", home / "train.tsv", home / "test.tsv", "--test", home / "test"]
    settings = ["--epochs", 10, "--lr", 0.01, "--width", 16, "--out", tmp_path / "run"]
    assert call("train", home / "train", *labels, *settings).code == 0
    found = call("evaluate", tmp_path / "run", home / "test", "--labels", home / "test.tsv")
    assert found.code == 0
    scores = tmp_path / "scores.tsv"
    assert call("predict", tmp_path / "run", home / "test", "--out", scores).code == 0
    assert scores.read_bytes() == (tmp_path / "run" / "scores-test.tsv").read_bytes()
    data = sl.data.EmbeddingDataset(sl.infer.load(home / "test"), home / "test.tsv")
    assert sl.infer.evaluate(tmp_path / "run", data)["accuracy"] > 0.9


def test_a_dataset_reads_embeddings_of_several_shards(home):
    found = sl.infer.load(home / "train")
    data = sl.data.EmbeddingDataset(found, home / "train.tsv", layer=0)
    batch = data.batch([159, 0, 51])
    expected = found.to_numpy(layer=0)[[159, 0, 51]]
    np.testing.assert_array_equal(batch["inputs"], expected)


def test_the_function_predict_accepts_an_embedding_folder(home, run):
    found = sl.infer.predict(run, home / "test")
    assert found.ids == sl.infer.load(home / "test").ids


def test_embeddings_of_another_network_are_rejected(home, run, tmp_path):
    other = sl.models.ESM2Config(layers=1, width=16, heads=4).init("numpy", sl.Key(9))
    sl.infer.embed(other.eval(), home / "test.fa", out=tmp_path / "e", layers=(0, -1))
    with pytest.raises(
        sl.errors.ConfigError, match="embed the records with the same model"
    ):
        sl.infer.predict(run, tmp_path / "e")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["train", "{home}/train", "--out", "{out}"], "no labels: give --labels TABLE"),
        (
            [
                "train",
                "{home}/train",
                "--labels",
                "t",
                "--alphabet",
                "dna",
                "--out",
                "{out}",
            ],
            "--alphabet: only for sequences, but FILES are a folder of embeddings",
        ),
        (
            [
                "train",
                "{home}/train",
                "{home}/test",
                "--labels",
                "{home}/train.tsv",
                "--out",
                "{out}",
            ],
            "embeddings must be a single folder",
        ),
        (
            [
                "train",
                "{home}/train",
                "--labels",
                "{home}/train.tsv",
                "--kernel-size",
                "3",
                "--out",
                "{out}",
            ],
            "--kernel-size is for convolutions; FILES are embeddings",
        ),
        (
            ["predict", "{home}/run", _demo.example_path("test.fa.gz"), "--out", "{out}"],
            "the model reads a folder of embeddings, but FILES are sequences",
        ),
    ],
)
@pytest.mark.usefixtures("run")
def test_options_for_sequences_are_rejected_for_embeddings(
    call, home, tmp_path, words, said
):
    places = {"home": home, "out": tmp_path / "out"}
    found = call(*[str(word).format(**places) for word in words])
    assert found.code != 0
    assert said in " ".join(found.err.split())
