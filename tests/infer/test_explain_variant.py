"""The picture of a variant has the attributions and outputs of both sequences."""

import numpy as np
import pytest

import seqloom as sl
from networks import Logistic
from seqloom.errors import ArgumentError, FormatError
from seqloom.models import Classify, Trained

GENOME = "AACGTTGCAAGGCCTTATATATAGCGCGTACGATCCCCATTTGACTGACTGA"
COMPLEMENT = str.maketrans("ACGT", "TGCA")
WIDTH = 11
DELETION = "chr1:32:GAT:G"


@pytest.fixture
def genome(tmp_path):
    (tmp_path / "g.fa").write_text(f">chr1\n{GENOME}\n")
    return tmp_path / "g.fa"


@pytest.fixture(scope="module")
def model():
    encoder = sl.encode.OneHot("dna")
    network = Logistic(encoder.width * WIDTH, 2)
    network.bind(sl.tensor.backend("numpy"), sl.Key(5))
    task = Classify(("no", "yes"))
    return Trained(network.eval(), encoder, task, batch_size=16)


def explain_variant(model, variant, genome, **options):
    return sl.infer.explain_variant(model, variant, genome, width=WIDTH, **options)


def network_of_positions(**options):
    return sl.nn.Conv1d(4, 2, 3, **options).bind("numpy", 1)


def test_weights_are_those_of_explain(genome, model):
    found = explain_variant(model, "chr1:32:G:C", genome, target="yes", around=9)
    sequences = [GENOME[26:37], f"{GENOME[26:31]}C{GENOME[32:37]}"]
    attributions = sl.infer.explain(model, sequences, target="yes", method="mutations")
    assert found.letters == tuple(sequences)
    for ours, theirs in zip(found.weights, attributions.by_letter(), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)
    assert found.unit == "log-odds"


def test_scores_are_those_of_variant_effects(genome, model):
    found = explain_variant(model, DELETION, genome, target="yes")
    table = {"chrom": ["chr1"], "pos": [32], "ref": ["GAT"], "alt": ["G"]}
    effects = sl.infer.variant_effects(model, table, genome, width=WIDTH)
    expected = [effects["reference_yes"][0], effects["alternative_yes"][0]]
    assert found.scores == pytest.approx(expected, abs=1e-6)


def test_a_deletion_has_gaps_and_positions_of_the_genome(genome, model):
    found = explain_variant(model, DELETION, genome, around=3)
    assert found.letters == ("TACGATCCC", "TACG--CCC")
    assert found.positions == [29, 30, 31, 32, 33, 34, 35, 36, 37]
    assert np.isnan(found.weights[1]).tolist() == [letter == "-" for letter in "TACG--CCC"]


def test_inserted_bases_have_no_position(genome, model):
    found = explain_variant(model, "chr1:32:G:GTT", genome, around=2)
    assert found.letters == ("ACG--AT", "ACGTTAT")
    assert found.positions == [30, 31, 32, None, None, 33, 34]


def test_bases_beyond_the_contig_are_n_and_have_no_position(genome, model):
    found = explain_variant(model, "chr1:2:A:C", genome, around=3)
    assert found.letters == ("NNAACGT", "NNACCGT")
    assert found.positions == [None, None, 1, 2, 3, 4, 5]


def test_every_spelling_has_the_same_picture(genome, model):
    one = explain_variant(model, DELETION, genome)
    other = explain_variant(model, "1:30:ACGATC:ACGC", genome)
    assert (one.variant, one.letters) == (other.variant, other.letters)
    np.testing.assert_array_equal(one.weights[1], other.weights[1])


def test_both_strands_are_averaged(genome, model):
    found = explain_variant(model, "chr1:32:G:C", genome, reverse_complement=True)
    text = GENOME[26:37]
    texts = [text, text.translate(COMPLEMENT)[::-1]]
    column = model.classes.index(found.target)
    expected = sl.infer.predict(model, texts).to_numpy()[:, column].mean()
    assert found.scores[0] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("options", [{"padding": "same"}, {"padding": 0}])
def test_outputs_at_positions_are_those_of_the_network(genome, options):
    network = network_of_positions(**options)
    found = explain_variant(network, "chr1:32:G:C", genome, around=3, target="output_1")
    text = GENOME[26:37]
    inputs = np.array([[[base == one for base in text] for one in "ACGT"]], np.float32)
    outputs = network(sl.tensor.Tensor(inputs, network.backend)).numpy()[0, 1]
    outputs = outputs if len(outputs) == WIDTH else np.pad(outputs, 1)
    np.testing.assert_allclose(found.weights[0], outputs[2:9], atol=1e-6)
    assert found.scores[0] == pytest.approx(outputs[2:9].max(), abs=1e-6)
    assert found.unit == "output"


def test_the_default_target_is_the_output_that_changes_most(genome):
    network = network_of_positions(padding="same")
    found = explain_variant(network, "chr1:32:G:C", genome)
    tracks = [
        explain_variant(network, "chr1:32:G:C", genome, target=name).weights
        for name in ("output_0", "output_1")
    ]
    changes = [np.abs(alternative - reference).max() for reference, alternative in tracks]
    assert found.target == f"output_{np.argmax(changes)}"


def test_the_default_target_of_two_classes_is_the_more_probable_one(genome, model):
    found = explain_variant(model, "chr1:32:G:C", genome)
    table = {"chrom": ["chr1"], "pos": [32], "ref": ["G"], "alt": ["C"]}
    effects = sl.infer.variant_effects(model, table, genome, width=WIDTH)
    names = [
        f"{allele}_{it}" for allele in ("reference", "alternative") for it in ("no", "yes")
    ]
    assert found.target == max(names, key=lambda it: effects[it][0]).split("_")[1]


@pytest.mark.parametrize("variant", ["chr1:32", "chr1:x:G:C", 5])
def test_a_variant_that_is_not_four_parts_is_an_error(genome, model, variant):
    with pytest.raises(ArgumentError, match='variant must be like "chr1:1234:CA:C"'):
        explain_variant(model, variant, genome)


def test_an_allele_without_a_sequence_is_an_error(genome, model):
    with pytest.raises(ArgumentError, match="cannot be scored: symbolic"):
        explain_variant(model, "chr1:32:G:<DEL>", genome)


def test_a_reference_that_differs_is_an_error(genome, model):
    with pytest.raises(FormatError, match="chr1:32: REF is C, the genome has G"):
        explain_variant(model, "chr1:32:C:G", genome)


def test_an_unknown_target_is_an_error(genome, model):
    with pytest.raises(ArgumentError, match="target must be one of no, yes, got 'maybe'"):
        explain_variant(model, "chr1:32:G:C", genome, target="maybe")


def test_an_allele_longer_than_the_window_is_an_error(genome, model):
    with pytest.raises(ArgumentError, match="width must be at least 20 for this variant"):
        explain_variant(model, "chr1:32:G:GACACACACA", genome)


def test_the_page_and_the_svg_file_have_the_sequences(genome, model, tmp_path):
    found = explain_variant(model, DELETION, genome, target="yes", around=3)
    found.to_html(tmp_path / "a.html")
    found.to_svg(tmp_path / "a.svg")
    for name in ("a.html", "a.svg"):
        text = (tmp_path / name).read_text()
        assert "Reference GAT: yes" in text
        assert text.count(">\N{EN DASH}<") == 2
    with pytest.raises(ArgumentError, match=r"a name that ends in \.svg"):
        found.to_svg(tmp_path / "a.png")
