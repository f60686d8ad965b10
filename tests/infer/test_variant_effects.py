"""Tests that effects are differences of the scores that `predict` gives to sequences."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

import seqloom as sl
from networks import Logistic
from seqloom._ragged import Ragged
from seqloom.errors import ArgumentError, FormatError, ShapeError
from seqloom.infer._variant_effects import variant_effects
from seqloom.models import Classify, Regress, Trained

GENOME = "AACGTTGCAAGGCCTTATATATAGCGCGTACGATCCCCATTTGACTGACTGA"
COMPLEMENT = str.maketrans("ACGT", "TGCA")


@pytest.fixture
def genome(tmp_path):
    path = tmp_path / "genome.fa"
    path.write_text(f">chr1\n{GENOME}\n")
    return path


def records(*rows, chrom="chr1"):
    """Return a batch of records (position from 0, REF, ALT)."""
    starts, refs, alts = zip(*rows, strict=True)
    return SimpleNamespace(
        chrom_codes=np.zeros(len(rows), np.int32),
        chrom_names=[chrom],
        starts=np.array(starts),
        ids=Ragged.from_list(["."] * len(rows)),
        refs=Ragged.from_list(refs),
        alts=Ragged.from_list(alts),
        lines=np.arange(len(rows)) + 1,
    )


def linear(task, *, width=9, seed=5):
    """A linear model of one-hot sequences."""
    encoder = sl.encode.OneHot("dna")
    network = Logistic(encoder.width * width, len(task.columns))
    network.bind(sl.tensor.backend("numpy"), sl.Key(seed))
    return Trained(network.eval(), encoder, task, batch_size=16)


MODEL = linear(Classify(("no", "yes")))


def probability(sequence, model=MODEL):
    return float(sl.infer.predict(model, [sequence]).to_numpy()[0, -1])


def test_a_substitution_is_the_difference_of_two_predictions(genome):
    effects = variant_effects(MODEL, records((20, "A", "C")), genome, width=9)
    reference = GENOME[16:25]
    alternative = f"{reference[:4]}C{reference[5:]}"
    expected = probability(alternative) - probability(reference)
    assert effects["difference_yes"][0] == pytest.approx(expected, abs=1e-6)
    assert effects["reference_yes"][0] == pytest.approx(probability(reference), abs=1e-6)


def test_a_deletion_is_filled_from_the_genome(genome):
    effects = variant_effects(MODEL, records((13, "CTT", "C")), genome, width=9)
    assert effects.alleles == ["chr1:14:CTT:C"]
    alternative = GENOME[9:14] + GENOME[16:20]
    assert effects["alternative_yes"][0] == pytest.approx(
        probability(alternative), abs=1e-6
    )


def test_an_insertion_moves_bases_out_of_the_window(genome):
    effects = variant_effects(MODEL, records((29, "A", "AGG")), genome, width=9)
    alternative = GENOME[25:30] + "GG" + GENOME[30:32]
    assert effects["alternative_yes"][0] == pytest.approx(
        probability(alternative), abs=1e-6
    )


def test_both_anchors_average_windows_with_a_common_end(genome):
    effects = variant_effects(
        MODEL, records((29, "A", "AGG")), genome, width=9, indels="both"
    )
    left = GENOME[25:30] + "GG" + GENOME[30:32]
    right = GENOME[27:30] + "GG" + GENOME[30:34]
    expected = (probability(left) + probability(right)) / 2
    assert effects["alternative_yes"][0] == pytest.approx(expected, abs=1e-6)


def test_strands_and_shifts_are_averaged_for_both_alleles(genome):
    options: dict[str, Any] = {"width": 9, "reverse_complement": True, "shifts": (-1, 2)}
    effects = variant_effects(MODEL, records((20, "A", "C")), genome, **options)
    windows = [GENOME[16 + shift : 25 + shift] for shift in (-1, 2)]
    windows += [window.translate(COMPLEMENT)[::-1] for window in windows]
    expected = np.mean([probability(window) for window in windows])
    assert effects["reference_yes"][0] == pytest.approx(expected, abs=1e-6)


def test_a_list_of_models_is_averaged(genome):
    models = [linear(Classify(("no", "yes")), seed=seed) for seed in (1, 2)]
    effects = variant_effects(models, records((20, "A", "C")), genome, width=9)
    expected = np.mean([probability(GENOME[16:25], model) for model in models])
    assert effects["reference_yes"][0] == pytest.approx(expected, abs=1e-6)


def test_logit_is_the_difference_of_log_odds_and_log_ratio_of_binary_logarithms(genome):
    compare = ("difference", "log_ratio", "logit")
    effects = variant_effects(
        MODEL, records((20, "A", "C")), genome, width=9, compare=compare
    )
    one, other = effects["reference_yes"][0], effects["alternative_yes"][0]
    odds = np.log(other / (1 - other)) - np.log(one / (1 - one))
    assert effects["logit_yes"][0] == pytest.approx(odds, abs=1e-6)
    assert effects["log_ratio_yes"][0] == pytest.approx(np.log2(other / one), abs=1e-6)


def test_logit_of_a_regression_is_an_error(genome):
    model = linear(Regress(("level",)))
    with pytest.raises(ArgumentError, match='compare="logit"'):
        variant_effects(model, records((20, "A", "C")), genome, width=9, compare="logit")


def test_each_record_has_a_row_with_its_status(genome):
    rows = (20, "A", "<DEL>"), (20, "A", "*,C"), (20, "A", "."), (20, "A", "<*>")
    effects = variant_effects(MODEL, records(*rows), genome, width=9)
    assert effects.status == [
        *("symbolic", "spanning_deletion", "ok", "missing", "reference_block")
    ]
    assert effects.records.tolist() == [0, 1, 1, 2, 3]
    assert np.isnan(effects["difference_yes"]).tolist() == [True, True, False, True, True]


def test_a_reference_that_differs_is_an_error_with_counts(genome):
    with pytest.raises(FormatError, match=r"differs from .* in 1 of 2 records") as caught:
        variant_effects(
            MODEL, records((20, "C", "A"), (21, GENOME[21], "G")), genome, width=9
        )
    assert "--on-mismatch swap" in str(caught.value)


def test_swap_scores_the_allele_of_the_genome_as_reference(genome):
    options: dict[str, Any] = {"width": 9, "on_mismatch": "swap"}
    effects = variant_effects(MODEL, records((20, "C", "A")), genome, **options)
    expected = variant_effects(MODEL, records((20, "A", "C")), genome, width=9)
    assert (effects.status, effects.refs) == (["swapped"], ["C"])
    assert effects["difference_yes"] == expected["difference_yes"]


def test_a_window_beyond_the_contig_is_padded_dropped_or_an_error(genome):
    batch = records((1, "A", "G"))
    padded = variant_effects(MODEL, batch, genome, width=9)
    assert padded["reference_yes"][0] == pytest.approx(probability(f"NNN{GENOME[:6]}"))
    dropped = variant_effects(MODEL, batch, genome, width=9, edge="drop")
    assert dropped.status == ["edge"]
    with pytest.raises(FormatError, match=r'line 1, chr1:2: .* edge="pad"'):
        variant_effects(MODEL, batch, genome, width=9, edge="error")


def test_an_unknown_width_is_an_error(genome):
    with pytest.raises(ArgumentError, match=r"width \(--width\) is required"):
        variant_effects(MODEL, records((20, "A", "C")), genome)


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_every_spelling_of_a_variant_has_the_same_score(data, tmp_path_factory):
    """Adds common bases on both sides of the alleles (1 s)."""
    path = tmp_path_factory.getbasetemp() / "spelling.fa"
    path.write_text(f">chr1\n{GENOME}\n")
    start = data.draw(st.integers(5, 40))
    stop = start + data.draw(st.integers(1, 4))
    alternative = GENOME[start] + data.draw(st.text("ACGT", max_size=3))
    assume(alternative != GENOME[start:stop])
    left = data.draw(st.integers(0, 4))
    right = data.draw(st.integers(0, 4))
    plain = start, GENOME[start:stop], alternative
    before, behind = GENOME[start - left : start], GENOME[stop : stop + right]
    padded = (
        start - left,
        GENOME[start - left : stop + right],
        before + alternative + behind,
    )
    one, other = (
        variant_effects(MODEL, records(row), path, width=9) for row in (plain, padded)
    )
    assert one.alleles == other.alleles
    assert one["alternative_yes"].tobytes() == other["alternative_yes"].tobytes()


class Positions(sl.nn.Module):
    """Two outputs at each position: the number of A and of C in three bases."""

    conv: sl.nn.Conv1d

    def __init__(self):
        self.conv = sl.nn.Conv1d(4, 2, 3, padding="same", bias=False)

    def __call__(self, x):
        return self.conv(x)


def count_bases():
    network = Positions().bind("numpy", 0)
    weight = np.zeros((2, 4, 3), np.float32)
    weight[0, 0], weight[1, 1] = 1, 1
    return network.load_record({"conv.weight": weight})


def test_within_reports_the_largest_gain_and_loss_with_their_positions(genome):
    effects = variant_effects(
        count_bases(), records((20, "A", "C")), genome, width=21, within=3
    )
    assert effects["gain_output_1"].tolist() == [1]
    assert effects["loss_output_0"].tolist() == [1]
    assert effects["gain_position_output_1"].tolist() == [-1]


def test_windows_with_the_same_right_end_have_no_common_positions(genome):
    with pytest.raises(ArgumentError, match="cannot be used with within=2"):
        variant_effects(MODEL, records((20, "A", "C")), genome, indels="both", within=2)


def test_within_beyond_the_outputs_is_an_error(genome):
    with pytest.raises(ShapeError, match="within must be smaller than 5"):
        variant_effects(count_bases(), records((20, "A", "C")), genome, width=9, within=5)


def test_genes_orient_and_mask_the_window(genome):
    genes: dict[str, Any] = {
        "name": ["plus", "minus"],
        "chrom": ["chr1"] * 2,
        "start": [18, 0],
    }
    genes |= {"stop": [40, 24], "strand": ["+", "-"]}
    effects = variant_effects(MODEL, records((20, "A", "C")), genome, width=9, genes=genes)
    plus = f"NN{GENOME[18:25]}"
    minus = f"{GENOME[16:24]}N".translate(COMPLEMENT)[::-1]
    assert effects.genes == ["plus", "minus"]
    expected = [probability(plus), probability(minus)]
    assert effects["reference_yes"].tolist() == pytest.approx(expected, abs=1e-6)
    outside = variant_effects(
        MODEL,
        records((45, GENOME[45], "T")),
        genome,
        width=9,
        genes=genes,
        on_mismatch="skip",
    )
    assert outside.status == ["outside_genes"]


def test_the_same_contig_with_and_without_chr_is_found(genome):
    effects = variant_effects(MODEL, records((20, "A", "C"), chrom="1"), genome, width=9)
    assert effects.status == ["ok"]
    assert "chr was added" in effects.report["contig_names"]


def test_a_score_does_not_depend_on_the_other_variants(genome):
    rows = [(at, GENOME[at], "ACGT".replace(GENOME[at], "")[0]) for at in range(8, 44)]
    together = variant_effects(MODEL, records(*rows), genome, width=9)
    alone = [variant_effects(MODEL, records(row), genome, width=9) for row in rows]
    expected = [effects["difference_yes"][0] for effects in alone]
    assert together["difference_yes"].tolist() == expected


def test_the_table_has_positions_from_1(genome, tmp_path):
    effects = variant_effects(MODEL, records((20, "A", "C,<DEL>")), genome, width=9)
    effects.save(tmp_path / "effects.tsv")
    header, first, second = (tmp_path / "effects.tsv").read_text().splitlines()
    assert header.startswith("chrom\tpos\tid\tref\talt\tstatus\tallele\treference_no")
    assert first.startswith("chr1\t21\t.\tA\tC\tok\tchr1:21:A:C\t")
    assert second.split("\t")[5:8] == ["symbolic", ".", "."]


def test_a_torch_module_and_its_onnx_file_have_the_effects_of_torch(genome, tmp_path):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    exports = pytest.importorskip("torch_exports", reason="onnx is not installed")
    network, path, _ = exports.export("convolutions", tmp_path)
    imported = sl.models.from_onnx(path, encoder=sl.encode.OneHot("dna"))
    pair = GENOME[14:26], GENOME[14:20] + "C" + GENOME[21:26]
    x = [[[base == it for base in text] for it in "ACGT"] for text in pair]
    with torch.no_grad():
        before, after = network(torch.tensor(x).float()).numpy().astype(float)
    network.train()
    for model in (network, imported):
        effects = variant_effects(model, records((20, "A", "C")), genome, width=12)
        found = [effects[name][0] for name in effects.columns if "difference" in name]
        assert found == pytest.approx((after - before).tolist(), abs=1e-6)
    assert all(part.training for part in network.modules())  # as before the call


def test_an_exported_model_has_the_effects_of_its_run(genome, tmp_path):
    table = {"sequence": [GENOME[at : at + 9] for at in range(40)], "label": [0, 1] * 20}
    data = sl.data.SequenceDataset(table, encoder=sl.encode.OneHot("dna"))
    config = sl.models.SequenceCNNConfig.for_data(data)
    run = sl.train.fit(config, data, epochs=1, out=tmp_path / "run")
    sl.export.save(run, tmp_path / "m.seqloom")
    batch = records((20, "A", "C"), (13, "CTT", "C"))
    expected = variant_effects(run, batch, genome)
    exported = tmp_path / "m.seqloom"
    found = variant_effects(exported, batch, genome)
    folds = variant_effects([run, exported], batch, genome)
    assert list(folds.columns) == list(expected.columns)
    for name in expected.columns:
        assert found[name].tolist() == pytest.approx(expected[name].tolist(), abs=1e-6)


def test_split_substitutions_have_the_scores_of_single_bases(genome):
    batch = records((19, "TA", "GC"))
    split = variant_effects(MODEL, batch, genome, width=9, split_mnps=True)
    singles = records((19, "T", "G"), (20, "A", "C"))
    expected = variant_effects(MODEL, singles, genome, width=9)
    assert split.alleles == ["chr1:20:T:G", "chr1:21:A:C"]
    assert split["difference_yes"].tolist() == expected["difference_yes"].tolist()
    assert len(variant_effects(MODEL, batch, genome, width=9)) == 1


def test_masked_effects_are_new_sites_and_lost_exon_ends(genome):
    genes: dict[str, Any] = {
        "#NAME": ["g"],
        "CHROM": ["chr1"],
        "STRAND": ["+"],
        "TX_START": [5],
    }
    genes |= {"TX_END": [45], "EXON_START": ["5,19,"], "EXON_END": ["11,45,"]}
    options: dict[str, Any] = {"width": 21, "within": 3, "genes": genes}
    batch = records((20, "A", "C"), (24, "C", "G"))
    plain = variant_effects(count_bases(), batch, genome, **options)
    masked = variant_effects(count_bases(), batch, genome, masked=True, **options)
    # The second exon begins one base before the first variant.
    assert plain["gain_position_output_1"].tolist() == [-1, -3]
    assert plain["gain_output_1"].tolist() == [1, 0]
    assert masked["gain_output_1"].tolist() == [0, 0]
    assert plain["loss_position_output_0"].tolist() == [-1, -3]
    assert masked["loss_output_0"].tolist() == [1, 0]


def test_masked_effects_need_exons(genome):
    genes: dict[str, Any] = {
        "name": ["g"],
        "chrom": ["chr1"],
        "start": [5],
        "stop": [45],
        "strand": ["+"],
    }
    options: dict[str, Any] = {"width": 21, "masked": True}
    with pytest.raises(ArgumentError, match=r"masked \(--masked\) needs genes"):
        variant_effects(count_bases(), records((20, "A", "C")), genome, **options)
    options |= {"within": 3, "genes": genes}
    with pytest.raises(FormatError, match="needs the columns EXON_START and EXON_END"):
        variant_effects(count_bases(), records((20, "A", "C")), genome, **options)


@pytest.mark.parametrize("size", [1, 4, 5, 8, 9, 10, 17, 18, 19])
def test_indels_of_any_size_have_the_scores_of_whole_windows(genome, size):
    """Deletes, inserts and replaces up to twice the width of the window."""
    network = Positions().bind("numpy", 3)
    rows = [
        (15, GENOME[15 : 16 + size], GENOME[15]),
        (20, "A", "A" + "CGT" * size),
        (21, GENOME[21 : 22 + size], "G" * (size + 2)),
        (20, "A", "C"),
    ]
    effects = variant_effects(network, records(*rows), genome, width=9)
    for row, allele in enumerate(effects.alleles):
        _, position, ref, alt = allele.split(":")
        start = int(position) - 1
        edited = GENOME[start - 4 : start] + alt + GENOME[start + len(ref) :]
        x = np.array([[[base == it for base in edited[:9]] for it in "ACGT"]], "float32")
        expected = network(sl.tensor.backend("numpy").tensor(x)).numpy().mean(axis=2)[0]
        found = [effects[f"alternative_output_{it}"][row] for it in range(2)]
        assert found == pytest.approx(expected.tolist(), abs=1e-6)


@pytest.mark.parametrize("sizes", [(12, 40), (13, 12), (11, 30), (1, 25)])
def test_replaced_alleles_of_any_size_have_effects_at_positions(genome, sizes):
    """The alleles may be longer than the window."""
    removed, added = sizes
    row = 20, GENOME[20 : 20 + removed], "C" * added
    options: dict[str, Any] = {"width": 21, "within": 3}
    effects = variant_effects(count_bases(), records(row), genome, **options)
    assert effects.status == ["ok"]
    assert effects["gain_output_1"][0] >= 1


def test_outputs_of_an_unknown_shape_are_an_error(genome):
    class Pairs(Positions):
        def __init__(self):
            super().__init__()

        def __call__(self, x):
            y = super().__call__(x)
            return y.reshape((y.shape[0], 2, 3, 3))

    with pytest.raises(ShapeError, match=r"shape \(2, 3, 3\) for a window"):
        variant_effects(Pairs().bind("numpy", 0), records((20, "A", "C")), genome, width=9)
