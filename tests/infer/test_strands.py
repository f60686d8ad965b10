"""Tests that scores averaged over both strands are the mean of two calls of `predict`."""

from typing import Any

import numpy as np
import pytest

import seqloom as sl
from seqloom.errors import ArgumentError

TRANSLATION_TO_COMPLEMENT = {
    "dna": str.maketrans("ACGTNRYacgt", "TGCANYRtgca"),
    "rna": str.maketrans("ACGU", "UGCA"),
}


def opposite_strand_of(text, alphabet="dna"):
    """Return the reverse complement of a sequence."""
    return text.translate(TRANSLATION_TO_COMPLEMENT[alphabet])[::-1]


def make_texts(letters="ACGT", lengths=(12, 20, 31), count=24):
    rng = np.random.default_rng(3)
    sizes = [lengths[number % len(lengths)] for number in range(count)]
    return ["".join(rng.choice([*letters], size)) for size in sizes]


@pytest.fixture(scope="module")
def trained():
    """A trained DNA model for each task."""
    texts = make_texts(count=60)
    labels: dict[Any, Any] = {
        "classify": ["abc"["ACGT".index(it[0]) % 3] for it in texts],
        "regress": [float(it.count("A")) for it in texts],
        "multilabel": [",".join(x for x in ("A", "C") if it[0] == x) for it in texts],
    }
    found = {}
    for task, values in labels.items():
        table = {"sequence": texts, "label": values}
        encoder = sl.encode.OneHot("dna")
        data = sl.data.SequenceDataset(
            table, encoder=encoder, labels=sl.data.Labels(task=task)
        )
        config = sl.models.SequenceCNNConfig.for_data(data)
        found[task] = sl.train.fit(config, data, epochs=3, lr=0.03).trained
    return found


@pytest.mark.parametrize("task", ["classify", "regress", "multilabel"])
def test_a_strand_averaged_score_is_the_mean_over_both_strands(trained, task):
    texts = [*make_texts(), "ACGTNRYACGTAA", "acgtACTTGCAtt"]
    model = trained[task]
    one = sl.infer.predict(model, texts).to_numpy()
    other = sl.infer.predict(model, [opposite_strand_of(it) for it in texts]).to_numpy()
    found = sl.infer.predict(model, texts, reverse_complement=True)
    assert found.ids == [str(number) for number in range(len(texts))]
    assert np.abs(one - other).max() > 1e-3
    np.testing.assert_allclose(found.to_numpy(), (one + other) / 2, rtol=1e-5, atol=1e-6)


def test_both_strands_of_a_sequence_have_equal_averaged_scores(trained):
    texts = make_texts()
    options: Any = {"reverse_complement": True}
    one = sl.infer.predict(trained["classify"], texts, **options)
    other = sl.infer.predict(
        trained["classify"], [opposite_strand_of(it) for it in texts], **options
    )
    np.testing.assert_allclose(one.to_numpy(), other.to_numpy(), rtol=1e-5, atol=1e-6)


def test_the_reverse_complement_of_rna_replaces_a_by_u():
    texts = make_texts("ACGU")
    table = {"sequence": texts, "label": ["xy"[it[0] in "AC"] for it in texts]}
    data = sl.data.SequenceDataset(table, encoder=sl.encode.OneHot("rna"))
    config = sl.models.SequenceCNNConfig.for_data(data)
    model = sl.train.fit(config, data, epochs=1).trained
    turned = [opposite_strand_of(it, "rna") for it in texts]
    pair = [sl.infer.predict(model, it).to_numpy() for it in (texts, turned)]
    found = sl.infer.predict(model, texts, reverse_complement=True).to_numpy()
    np.testing.assert_allclose(found, sum(pair) / 2, rtol=1e-5, atol=1e-6)


def test_strand_averaging_works_for_every_type_of_dataset(trained, tmp_path):
    model, texts = trained["classify"], make_texts(lengths=(20,), count=6)
    fasta = "".join(f">r{number}\n{text}\n" for number, text in enumerate(texts))
    (tmp_path / "a.fa").write_text(fasta)
    expected = sl.infer.predict(model, texts, reverse_complement=True).to_numpy()
    data = sl.data.SequenceDataset(tmp_path / "a.fa", encoder=model.encoder, labels=False)
    bed = "".join(f"r{number}\t0\t20\n" for number in range(len(texts)))
    (tmp_path / "a.bed").write_text(bed)
    intervals = sl.data.IntervalDataset(
        tmp_path / "a.fa", tmp_path / "a.bed", encoder=model.encoder
    )
    cached = sl.data.cached(data, tmp_path / "cache")
    for source in (tmp_path / "a.fa", data, data[:], intervals, cached):
        found = sl.infer.predict(model, source, reverse_complement=True).to_numpy()
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_evaluate_uses_strand_averaged_scores(trained):
    texts = make_texts()
    values = [float(text.count("A")) for text in texts]
    table = {"sequence": texts, "label": values}
    model = trained["regress"]
    data = sl.data.SequenceDataset(
        table, encoder=model.encoder, labels=sl.data.Labels(task="regress")
    )
    found = sl.infer.evaluate(model, data, reverse_complement=True)
    pair = [
        sl.infer.predict(model, it)
        for it in (texts, [opposite_strand_of(it) for it in texts])
    ]
    mean = (pair[0].to_numpy() + pair[1].to_numpy())[:, 0] / 2
    assert found["rmse"] == pytest.approx(np.sqrt(np.mean((mean - values) ** 2)), rel=1e-4)


def test_explain_returns_differences_of_strand_averaged_scores(trained):
    text, model = make_texts()[0], trained["multilabel"]
    name = model.classes[0]
    options: Any = {"reverse_complement": True}
    found = sl.infer.explain(model, [text], target=name, **options).weights[0]
    changed = [text[:at] + "N" + text[at + 1 :] for at in range(len(text))]
    scores = sl.infer.predict(model, [text, *changed], **options).to_numpy()[:, 0]
    logits = np.log(scores / (1 - scores))
    np.testing.assert_allclose(found, logits[0] - logits[1:], rtol=1e-2, atol=1e-3)


def test_progress_counts_a_record_of_two_scored_strands_once(trained):
    heard = []
    texts = make_texts()
    sl.infer.predict(
        trained["classify"],
        texts,
        reverse_complement=True,
        progress=lambda done, total: heard.append((done, total)),
    )
    assert heard == sorted(heard)
    assert heard[-1] == (len(texts), len(texts))


def fit_on(encoder, texts):
    table = {"sequence": texts, "label": ["xy"[number % 2] for number in range(len(texts))]}
    data = sl.data.SequenceDataset(table, encoder=encoder)
    config = sl.models.SequenceCNNConfig.for_data(data)
    return sl.train.fit(config, data, epochs=1)


@pytest.mark.parametrize(
    ("encoder", "letters"),
    [(sl.encode.OneHot("protein"), "ACDE"), (sl.encode.OneHot("ACGT"), "ACGT")],
)
def test_averaging_strands_of_proteins_is_an_error(encoder, letters):
    texts = make_texts(letters)
    run = fit_on(encoder, texts)
    message = "is for models of DNA or RNA"
    with pytest.raises(ArgumentError, match=message):
        sl.infer.predict(run, texts, reverse_complement=True)
    with pytest.raises(ArgumentError, match=message):
        sl.infer.explain(run, texts, method="mutations", reverse_complement=True)


def test_averaging_strands_of_an_augmented_dataset_is_an_error(trained):
    augment = sl.augment.Mutate(0.1)
    options: Any = {"encoder": trained["classify"].encoder, "augment": augment}
    data = sl.data.SequenceDataset({"sequence": make_texts()}, labels=False, **options)
    with pytest.warns(sl.errors.DataWarning), pytest.raises(ArgumentError, match="augment"):
        sl.infer.predict(trained["classify"], data, reverse_complement=True)


def test_averaging_strands_with_an_exported_model_is_an_error(trained, tmp_path):
    sl.export.save(trained["classify"], tmp_path / "export")
    (tmp_path / "a.fa").write_text(">a\nACGTACGTACGT\n")
    with pytest.raises(ArgumentError, match="needs the run folder"):
        sl.infer.predict(tmp_path / "export", tmp_path / "a.fa", reverse_complement=True)
