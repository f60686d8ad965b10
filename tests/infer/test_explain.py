"""Tests that each weight of `explain` is a difference of two scores of `predict`."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import seqloom as sl
from networks import Logistic
from seqloom.errors import ArgumentError, FormatError, ShapeError
from seqloom.infer._probe import EncoderProbe
from seqloom.models import Classify, Multilabel, Regress, Trained

SIX_BASES = st.text("ACGT", min_size=6, max_size=6)


def linear(task, *, length=6, encoder=None, seed=5):
    """A linear model, whose outputs are sums of one weight for each residue."""
    encoder = encoder or sl.encode.OneHot("dna")
    network = Logistic(encoder.width * length, len(task.columns))
    network.bind(sl.tensor.backend("numpy"), sl.Key(seed))
    return Trained(network.eval(), encoder, task, batch_size=16)


def weights_of(trained, length=6):
    """The weights of a linear model, by class, residue and position."""
    return np.asarray(trained.model.to_record()["head.weight"]).reshape(
        len(trained.classes), -1, length
    )


def log_odds(model, sequences, name):
    """Compute the log-odds of a class from the probabilities that `predict` returns."""
    scores = sl.infer.predict(model, sequences)
    p = scores.to_numpy().astype(float)[:, scores.classes.index(name)]
    return np.log(p) - np.log1p(-p)


def hide(text, start, stop, by="N"):
    return text[:start] + by * (stop - start) + text[stop:]


THREE_CLASS_MODEL = linear(Classify(("a", "b", "c")))
TWO_CLASS_MODEL = linear(Classify(("no", "yes")))


@pytest.fixture
def run(toy, small):
    """A trained nonlinear network."""
    return sl.train.fit(small, toy(60, lengths=(12, 20, 31)), epochs=3)


def test_an_occlusion_weight_is_the_decrease_of_the_log_odds_of_a_class(run):
    text = "ACGTTATACCGA"
    found = sl.infer.explain(run, [text], target="yes")
    hidden = [hide(text, at, at + 1) for at in range(12)]
    expected = log_odds(run, [text], "yes") - log_odds(run, hidden, "yes")
    np.testing.assert_allclose(found.weights[0], expected, atol=1e-5)


def test_a_mutation_weight_is_the_increase_of_the_log_odds(run):
    text = "ACGTTATACCGA"
    found = sl.infer.explain(run, [text], target="yes", method="mutations")
    assert found.letters == "ACGT"
    for column, letter in enumerate("ACGT"):
        changed = [hide(text, at, at + 1, letter) for at in range(12)]
        expected = log_odds(run, changed, "yes") - log_odds(run, [text], "yes")
        np.testing.assert_allclose(found.weights[0][:, column], expected, atol=1e-5)


@pytest.mark.parametrize(
    ("encoder", "plain", "written"),
    [
        (sl.encode.OneHot("dna"), "ACGTAC", "acgtac"),
        (sl.encode.OneHot("dna"), "ACGTAC", "AcgTaC"),
        (sl.encode.OneHot("dna", rna_as_dna=True), "ACGTTC", "ACGUuC"),
        (sl.encode.OneHot("rna"), "ACGUAC", "acguAC"),
        (sl.encode.OneHot("protein"), "MKTAYI", "mktAYi"),
        (sl.encode.OneHot("protein", rare="replace"), "MKCAYK", "MKUAYO"),
    ],
)
def test_residues_that_are_encoded_equally_have_equal_weights(encoder, plain, written):
    model = linear(Classify(("no", "yes")), encoder=encoder)
    found, expected = (
        sl.infer.explain(
            model, {"sequence": [it]}, target="yes", method="mutations"
        ).by_letter()[0]
        for it in (written, plain)
    )
    np.testing.assert_array_equal(found, expected)


def test_an_unknown_residue_is_mutated_to_every_base():
    encoder = sl.encode.OneHot("dna", case="mask")
    model = linear(Classify(("no", "yes")), encoder=encoder)
    found = sl.infer.explain(model, ["aCGTAC"], target="yes", method="mutations")
    table = (weights_of(model)[1] - weights_of(model)[0])[:, 0]
    np.testing.assert_allclose(found.by_letter()[0][0], -table.mean(), atol=1e-5)


@settings(max_examples=25)
@given(text=SIX_BASES)
def test_occlusion_of_a_linear_model_returns_its_weights(text):
    found = sl.infer.explain(TWO_CLASS_MODEL, [text], target="yes")
    table = weights_of(TWO_CLASS_MODEL)[1] - weights_of(TWO_CLASS_MODEL)[0]
    codes = ["ACGT".index(letter) for letter in text]
    np.testing.assert_allclose(found.weights[0], table[codes, np.arange(6)], atol=1e-5)


@settings(max_examples=25)
@given(text=SIX_BASES)
def test_mutations_of_a_linear_model_return_differences_of_its_weights(text):
    found = sl.infer.explain(TWO_CLASS_MODEL, [text], target="yes", method="mutations")
    table = weights_of(TWO_CLASS_MODEL)[1] - weights_of(TWO_CLASS_MODEL)[0]
    codes = ["ACGT".index(letter) for letter in text]
    expected = (table - table[codes, np.arange(6)]).T
    np.testing.assert_allclose(found.weights[0], expected, atol=1e-5)


@given(text=SIX_BASES)
@settings(max_examples=10)
def test_the_mutation_weight_of_the_original_residue_is_exactly_0(text):
    found = sl.infer.explain(THREE_CLASS_MODEL, [text], method="mutations").weights[0]
    assert (
        found[np.arange(6), ["ACGT".index(letter) for letter in text]].tolist() == [0] * 6
    )


@given(text=SIX_BASES)
@settings(max_examples=10)
def test_attribution_weights_of_two_classes_have_opposite_signs(text):
    yes, no = (
        sl.infer.explain(TWO_CLASS_MODEL, [text], target=it).weights[0]
        for it in ("yes", "no")
    )
    np.testing.assert_allclose(yes, -no, atol=1e-6)


def test_by_default_each_sequence_is_explained_for_its_predicted_class():
    texts = ["ACGTAC", "GGGTTT", "CATCAT", "TTAGCC"]
    called = sl.infer.predict(THREE_CLASS_MODEL, texts).to_numpy().argmax(axis=1)
    found = sl.infer.explain(THREE_CLASS_MODEL, texts)
    assert found.targets == ["abc"[number] for number in called]
    for number, text in enumerate(texts):
        alone = sl.infer.explain(THREE_CLASS_MODEL, [text], target=found.targets[number])
        np.testing.assert_allclose(found.weights[number], alone.weights[0], atol=1e-6)


def test_attribution_weights_compare_a_class_with_all_other_classes():
    found = sl.infer.explain(THREE_CLASS_MODEL, ["GATTAC"], target="b")
    hidden = [hide("GATTAC", at, at + 1) for at in range(6)]
    expected = log_odds(THREE_CLASS_MODEL, ["GATTAC"], "b") - log_odds(
        THREE_CLASS_MODEL, hidden, "b"
    )
    np.testing.assert_allclose(found.weights[0], expected, atol=1e-5)
    np.testing.assert_allclose(
        found.scores, log_odds(THREE_CLASS_MODEL, ["GATTAC"], "b"), atol=1e-5
    )


def test_attribution_weights_of_confident_predictions_are_finite():
    """Probabilities round to 1 in float32, and their log-odds would be infinite."""
    network = Logistic(24, 2).bind(sl.tensor.backend("numpy"), sl.Key(0))
    record = network.to_record()
    weights = 100 * np.asarray(record["head.weight"])
    network.load_record(sl.record.Record({**record, "head.weight": weights}))
    trained = Trained(network.eval(), sl.encode.OneHot("dna"), Classify(("no", "yes")), 16)
    found = sl.infer.explain(trained, ["GATTAC"], target="yes").weights[0]
    table = (weights[1] - weights[0]).reshape(4, 6)
    expected = table[["ACGT".index(it) for it in "GATTAC"], np.arange(6)]
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_all_residues_of_an_occlusion_window_have_its_weight():
    found = sl.infer.explain(TWO_CLASS_MODEL, ["GATTAC"], window=4, target="yes")
    hidden = [hide("GATTAC", 0, 4), hide("GATTAC", 4, 6)]
    changes = log_odds(TWO_CLASS_MODEL, ["GATTAC"], "yes") - log_odds(
        TWO_CLASS_MODEL, hidden, "yes"
    )
    np.testing.assert_allclose(found.weights[0], np.repeat(changes, [4, 2]), atol=1e-5)


@pytest.mark.parametrize("method", ["occlusion", "mutations"])
def test_attribution_weights_of_a_regression_are_in_label_units(method):
    task = Regress(("small", "large"), mean=(1.0, 500.0), deviation=(0.1, 200.0))
    trained = linear(task)
    found = sl.infer.explain(trained, ["GATTAC"], method=method, target="large")
    letters = "N" if method == "occlusion" else "ACGT"
    changed = [hide("GATTAC", at, at + 1, it) for at in range(6) for it in letters]
    values = sl.infer.predict(trained, ["GATTAC", *changed]).to_numpy()[:, 1]
    expected = (values[1:] - values[0]).reshape(6, -1)
    weights = found.weights[0].reshape(6, -1)
    signed = -weights if method == "occlusion" else weights
    np.testing.assert_allclose(signed, expected, atol=1e-2)
    np.testing.assert_allclose(found.scores, values[:1], rtol=1e-5)


def test_attribution_weights_of_one_label_are_differences_of_its_logit():
    trained = linear(Multilabel(("tata", "gc", "cat")))
    found = sl.infer.explain(trained, ["GATTAC"], target="gc")
    codes = ["ACGT".index(letter) for letter in "GATTAC"]
    expected = weights_of(trained)[1][codes, np.arange(6)]
    np.testing.assert_allclose(found.weights[0], expected, atol=1e-5)


def test_explaining_a_regression_with_one_output_needs_no_target():
    assert sl.infer.explain(linear(Regress(("gc",))), ["GATTAC"]).targets == ["gc"]


def test_proteins_are_occluded_by_x_except_for_a_final_stop():
    encoder = sl.encode.OneHot("protein")
    trained = linear(Classify(("no", "yes")), length=3, encoder=encoder)
    found = sl.infer.explain(trained, ["MKV*"], target="yes")
    hidden = [hide("MKV", at, at + 1, "X") for at in range(3)]
    expected = log_odds(trained, ["MKV"], "yes") - log_odds(trained, hidden, "yes")
    assert found.sequences == ["MKV"]
    np.testing.assert_allclose(found.weights[0], expected, atol=1e-5)


def test_an_amino_acid_is_mutated_to_each_of_the_20_amino_acids():
    encoder = sl.encode.OneHot("protein")
    trained = linear(Classify(("no", "yes")), length=3, encoder=encoder)
    found = sl.infer.explain(trained, ["MKV"], method="mutations")
    assert found.letters == "ACDEFGHIKLMNPQRSTVWY"
    assert found.weights[0].shape == (3, 20)


def test_lower_and_upper_case_residues_have_equal_attributions():
    small, large = (
        sl.infer.explain(THREE_CLASS_MODEL, [text], method="mutations").weights[0]
        for text in ("gatTAC", "GATTAC")
    )
    np.testing.assert_array_equal(small, large)


def test_residues_of_a_custom_alphabet_are_mutated():
    encoder = sl.encode.OneHot("HEC")
    trained = linear(Classify(("no", "yes")), encoder=encoder)
    found = sl.infer.explain(trained, ["HHECCE"], method="mutations", target="yes")
    changed = log_odds(trained, ["EHECCE"], "yes") - log_odds(trained, ["HHECCE"], "yes")
    np.testing.assert_allclose(found.weights[0][0, 1], changed, atol=1e-5)


@pytest.mark.parametrize("options", [{"window": 3}, {"method": "mutations"}], ids=str)
def test_attributions_of_sequences_do_not_depend_on_the_batch(run, toy, options):
    data = toy(12, lengths=(12, 20, 31))
    found = sl.infer.explain(run, data, **options)
    assert found.ids == data.ids
    assert [len(it) for it in found.weights] == data.lengths.tolist()
    for number, text in enumerate(found.sequences):
        alone = sl.infer.explain(run, [text], **options)
        np.testing.assert_allclose(found.weights[number], alone.weights[0], atol=1e-5)


def test_explain_limits_the_number_of_mutated_sequences_in_memory(run, toy, monkeypatch):
    held = []

    def counted(table, **options):
        held.append(len(table["sequence"]))
        return sl.data.SequenceDataset(table, **options)

    monkeypatch.setattr("seqloom.infer._probe.SequenceDataset", counted)
    monkeypatch.setattr("seqloom.infer._probe._MAX_CHUNK_RESIDUES", 1)
    data = toy(60, lengths=(31,))
    sl.infer.explain(run, data)
    longest, unchanged, *changed = held  # the changed sequences follow their originals
    assert (longest, unchanged) == (1, 60)
    size, total = run.trained.batch_size, 60 * 31
    chunks = [(at, min(at + size, total)) for at in range(0, total, size)]
    originals = [(stop - 1) // 31 - start // 31 + 1 for start, stop in chunks]
    assert changed == [
        stop - start + count for (start, stop), count in zip(chunks, originals, strict=True)
    ]


def test_explain_uses_smaller_batches_for_longer_sequences(run):
    assert run.trained.batch_size == 256
    assert EncoderProbe(run.trained, [b"A" * 5000]).batch_size == (1 << 18) // 5000


def test_progress_of_explain_counts_every_residue(toy, run):
    heard = []
    data = toy(30, lengths=(12, 31))
    sl.infer.explain(run, data, progress=lambda *counts: heard.append(counts))
    assert heard[-1] == (data.lengths.sum(), data.lengths.sum())
    assert sorted(heard) == heard


def test_augmentation_of_a_dataset_is_disabled_for_explain(run, toy):
    moving = toy(augment=sl.augment.ReverseComplement())
    found, expected = (sl.infer.explain(run, it) for it in (moving, toy()))
    assert found.sequences == expected.sequences
    np.testing.assert_array_equal(found.scores, expected.scores)


def test_intervals_of_a_genome_can_be_explained(run, tmp_path):
    (tmp_path / "g.fa").write_text(">chr1\n" + "ACGTTATACCGA" * 5 + "\n")
    (tmp_path / "p.bed").write_text("chr1\t3\t23\n")
    parts = sl.data.IntervalDataset(
        tmp_path / "g.fa", tmp_path / "p.bed", encoder=run.trained.encoder
    )
    found = sl.infer.explain(run, parts)
    assert found.sequences == [("ACGTTATACCGA" * 5)[3:23]]


def test_explain_accepts_a_run_folder_and_files(toy, small, tmp_path):
    run = sl.train.fit(small, toy(), epochs=1, out=tmp_path / "run")
    found = sl.infer.explain(tmp_path / "run", tmp_path / "toy.fa")
    expected = sl.infer.explain(run, tmp_path / "toy.fa")
    assert found.ids == [f"r{number}" for number in range(48)]
    np.testing.assert_array_equal(found.weights, expected.weights)


INVALID_ARGUMENTS = {
    "target": ({"target": "d"}, "must be one of a, b, c, got 'd'"),
    "method": ({"method": "saliency"}, 'method must be "occlusion" or "mutations"'),
    "window": ({"window": 0}, "window must be an integer of at least 1, got 0"),
    "both": (
        {"window": 3, "method": "mutations"},
        "mutations change one residue at a time",
    ),
}


@pytest.mark.parametrize(
    ("options", "expected"), INVALID_ARGUMENTS.values(), ids=INVALID_ARGUMENTS.keys()
)
def test_an_invalid_argument_of_explain_is_an_error(options, expected):
    with pytest.raises(ArgumentError, match=expected):
        sl.infer.explain(THREE_CLASS_MODEL, ["GATTAC"], **options)


def test_explaining_a_multilabel_model_needs_a_target():
    with pytest.raises(ArgumentError, match="must be one of the labels: tata, gc"):
        sl.infer.explain(linear(Multilabel(("tata", "gc"))), ["GATTAC"])


@pytest.mark.parametrize(
    ("encoder", "reason"),
    [
        (sl.encode.OneHot("dna", unknown="error"), "the encoder rejects N"),
        (sl.encode.OneHot("HECX"), "has no symbol for an unknown residue"),
    ],
    ids=["policy", "alphabet"],
)
def test_explaining_dna_needs_an_encoder_that_accepts_n(encoder, reason):
    trained = linear(Classify(("no", "yes")), encoder=encoder)
    with pytest.raises(ArgumentError, match=f'{reason}.*method="mutations"'):
        sl.infer.explain(trained, ["CCCCCC"])
    sl.infer.explain(trained, ["CCCCCC"], method="mutations")


def test_explaining_a_model_of_genotypes_is_an_error(cohort):
    data = cohort()
    run = sl.train.fit(sl.models.GenotypeMLPConfig.for_data(data), data, epochs=1)
    with pytest.raises(
        ArgumentError, match=r"12 variants.* explain changes .* no alphabet"
    ):
        sl.infer.explain(run, data)


def test_explaining_a_model_of_embeddings_is_an_error():
    rows = np.random.default_rng(0).random((8, 4)).astype(np.float32)
    data = sl.data.EmbeddingDataset(dict(zip("abcdefgh", rows, strict=True)), [*"nyny"] * 2)
    run = sl.train.fit(sl.models.HeadConfig.for_data(data), data, epochs=1)
    with pytest.raises(ArgumentError, match=r"embeddings.* explain changes .* no alphabet"):
        sl.infer.explain(run, data)


def test_explaining_an_exported_model_is_an_error_with_a_remedy(run, tmp_path):
    sl.export.save(run.trained, tmp_path / "out")
    with pytest.raises(ArgumentError, match="pass the run folder"):
        sl.infer.explain(tmp_path / "out", tmp_path / "toy.fa")


def test_the_error_of_explain_names_a_sequence_of_the_wrong_length():
    network = sl.models.SequenceCNNConfig(channels=4, outputs=2, length=20).init("numpy")
    trained = Trained(
        network.eval(), sl.encode.OneHot("dna"), Classify(("a", "b")), batch_size=16
    )
    with pytest.raises(ShapeError, match="20 residues, but 'odd' has 4"):
        sl.infer.explain(trained, {"fit": "ACGTA" * 4, "odd": "ACGT"})


def test_explaining_no_sequences_is_an_error(run, toy):
    with pytest.raises(FormatError, match="no sequences"):
        sl.infer.explain(run, sl.data.Subset(toy(), []))
