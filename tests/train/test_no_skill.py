"""Tests of the warning about a model that is no better than a constant prediction."""

import numpy as np
import pytest

import seqloom as sl
from seqloom.cli import main
from seqloom.errors import NoSkillWarning
from seqloom.models import Classify, Multilabel, Regress
from seqloom.train._evaluation import poor_model_warning


def part_of(task, labels, scores):
    """Return results with the metrics of a task for given scores."""
    ids = [f"r{i}" for i in range(len(labels))]
    table = sl.infer.Scores(ids, task.columns, np.asarray(scores, np.float32))
    metrics: dict[str, float] = {"n": len(ids), **task.measure(labels, table.to_numpy())}
    return sl.train.Part(table, labels, metrics)


TRUE_VALUES = np.arange(20, dtype=np.float32)
TRUE_CLASSES = np.array([0] * 15 + [1] * 5)


@pytest.mark.parametrize(
    ("guess", "is_poor"),
    [(TRUE_VALUES, False), (np.full(20, TRUE_VALUES.mean()), True), (-TRUE_VALUES, True)],
    ids=["right", "the mean", "the reverse"],
)
def test_a_regression_is_compared_with_the_mean(guess, is_poor):
    task = Regress(("y",))
    found = poor_model_warning(task, "test", part_of(task, TRUE_VALUES, guess[:, None]))
    assert (found is not None) == is_poor


@pytest.mark.parametrize(
    ("guess", "is_poor"),
    [(TRUE_CLASSES, False), (0 * TRUE_CLASSES, True), (1 - TRUE_CLASSES, True)],
    ids=["right", "the most frequent", "the reverse"],
)
def test_a_classifier_is_compared_with_the_most_frequent_class(guess, is_poor):
    task = Classify(("a", "b"))
    found = poor_model_warning(task, "test", part_of(task, TRUE_CLASSES, np.eye(2)[guess]))
    assert (found is not None) == is_poor


@pytest.mark.parametrize("shift", [lambda y: y + 50, lambda y: 9 * y], ids=["+", "x"])
def test_correlated_predictions_on_another_scale_get_advice_about_units(shift):
    part = part_of(Regress(("y",)), shift(TRUE_VALUES), TRUE_VALUES[:, None])
    found = poor_model_warning(Regress(("y",)), "test", part) or ""
    assert "correlate with the labels (Spearman 1.00)" in found
    assert "same unit" in found
    assert "no better" not in found


def test_weakly_correlated_predictions_are_no_better_than_the_mean():
    noise = np.random.default_rng(0).permutation(TRUE_VALUES)
    part = part_of(Regress(("y",)), TRUE_VALUES, (TRUE_VALUES * 0.3 + noise)[:, None])
    assert part.metrics["r2"] < 0 < part.metrics["pearson"] < 0.5
    found = poor_model_warning(Regress(("y",)), "test", part) or ""
    assert "no better than the mean" in found


def test_a_multilabel_model_is_compared_with_constant_predictions():
    task, labels = (
        Multilabel(("a", "b")),
        np.stack([TRUE_CLASSES, 1 - TRUE_CLASSES], axis=1),
    )
    assert poor_model_warning(task, "test", part_of(task, labels, labels)) is None
    assert poor_model_warning(task, "test", part_of(task, labels, 0 * labels))


def test_few_records_give_no_warning_about_a_model_without_skill():
    task = Regress(("y",))
    assert (
        poor_model_warning(
            task, "test", part_of(task, TRUE_VALUES[:9], TRUE_VALUES[:9, None] * 0)
        )
        is None
    )


def test_fit_and_the_report_warn_if_a_model_is_no_better_than_a_constant(toy, small):
    random = np.random.default_rng(0).permutation([*"ab"] * 24)
    data = toy()
    data = sl.data.SequenceDataset(
        data.paths[0],
        labels=dict(zip(data.ids, random, strict=True)),
        encoder=data.encoder,
    )
    train, valid = sl.data.Subset(data, range(24)), sl.data.Subset(data, range(24, 48))
    with pytest.warns(NoSkillWarning, match="no better than always .* validation set"):
        run = sl.train.fit(small, train, valid, epochs=1, lr=1e-9)
    assert any("no better than always" in note for note in run.report.notes)


def test_the_command_line_warns_if_a_model_is_no_better_than_a_constant(
    toy, tmp_path, capsys
):
    data = toy(labels=None)
    chance = np.random.default_rng(0).normal(size=48)
    lines = "".join(f"{key}\t{v}\n" for key, v in zip(data.ids, chance, strict=True))
    (tmp_path / "y.tsv").write_text(f"id\tlabel\n{lines}")
    words = f"train {tmp_path}/toy.fa --labels {tmp_path}/y.tsv --alphabet dna"
    words += " --task regress --lr 1e-9 --network standard"
    with pytest.raises(SystemExit) as ended:
        main([*words.split(), "--valid-share", "0.5", "--out", str(tmp_path / "run")])
    assert ended.value.code in {None, 0}
    assert "warning: the model is no better than the mean" in capsys.readouterr().err


def test_a_model_of_the_example_trait_is_better_than_a_constant():
    home = sl.__path__[0] + "/_demo/genotypes"
    data = sl.data.GenotypeDataset(
        f"{home}/example.bed", sl.data.Labels(f"{home}/trait.txt", label_column="trait")
    )
    train, valid = sl.data.split(data, (0.9, 0.1), seed=0)
    config = sl.models.GenotypeMLPConfig.for_data(train)
    run = sl.train.fit(config, train, valid, epochs=20)
    assert run.valid.metrics["r2"] > 0.2
