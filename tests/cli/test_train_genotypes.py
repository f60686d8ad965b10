"""``seqloom train``, ``predict`` and ``evaluate`` on a PLINK .bed."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import seqloom as sl
from seqloom import _demo

DEMO_GENOTYPES = Path(__file__).parents[2] / "python/seqloom/_demo/genotypes"
BED, TRAIT, COVARIATES = (
    DEMO_GENOTYPES / name for name in ("example.bed", "phenotype.txt", "covariates.txt")
)
FASTA, TABLE = _demo.example_path("train.fa.gz"), _demo.example_path("train.tsv")
LABEL_OPTIONS = ["--labels", TRAIT, "--id-column", "IID", "--label-column", "Y1"]
SHORT_TRAINING_OPTIONS = ["--epochs", 2, "--threads", 1]


@pytest.fixture
def run(call, tmp_path):
    """A run folder written by `seqloom train`."""
    said = call(
        "train",
        BED,
        *LABEL_OPTIONS,
        *SHORT_TRAINING_OPTIONS,
        "--test",
        BED,
        "--out",
        tmp_path / "run",
    )
    assert said.code == 0, said.err
    return tmp_path / "run"


def write_other(folder, order):
    """Write the first 20 samples of the example with reordered variants."""
    bed = sl.io.open_bed(BED)
    properties = {
        name: it[:20] if np.asarray(it).size == bed.iid_count else it[order]
        for name, it in bed.properties.items()
    }
    sl.io.to_bed(folder / "other.bed", bed.read((slice(20), order)), properties=properties)
    return folder / "other.bed"


def test_predict_on_genotypes_gives_the_test_scores_that_train_saved(call, run, tmp_path):
    said = call("predict", run, BED, "--out", tmp_path / "s.tsv", "--threads", 1)
    assert said.code == 0
    assert (tmp_path / "s.tsv").read_bytes() == (run / "scores-test.tsv").read_bytes()
    assert "scored 500 samples" in said.out


def test_training_on_genotypes_prints_backend_device_and_threads(call, tmp_path):
    said = call(
        "train", BED, *LABEL_OPTIONS, *SHORT_TRAINING_OPTIONS, "--out", tmp_path / "run"
    )
    assert re.match(r"seqloom \S+, backend numpy, device cpu, 1 thread\n", said.out)
    assert "450 samples" in said.out
    assert "sequences" not in said.out


@pytest.mark.parametrize("name", ["geno.dat", "geno.bim", "geno.fam"])
def test_predict_does_not_overwrite_the_tables_of_a_bed(call, tmp_path, name):
    for suffix in (".bed", ".bim", ".fam"):
        shutil.copy(BED.with_suffix(suffix), tmp_path / f"geno{suffix}")
    (tmp_path / "geno.bed").rename(tmp_path / "geno.dat")
    words = ["predict", tmp_path / "run", tmp_path / "geno.dat", "--overwrite"]
    said = call(*words, "--out", tmp_path / name)
    assert said.code == 2
    assert f"{name}: is also an input file" in said.err


def test_the_order_of_variants_does_not_change_scores(call, run, tmp_path):
    other = write_other(tmp_path, np.arange(1000)[::-1])
    said = call("predict", run, other, "--out", tmp_path / "s.tsv", "--threads", 1)
    assert said.code == 0
    lines = (run / "scores-test.tsv").read_text().splitlines()[:21]
    assert (tmp_path / "s.tsv").read_text().splitlines() == lines


def test_predict_reports_variants_missing_from_the_bed(call, run, tmp_path):
    other = write_other(tmp_path, np.arange(990))
    said = call("predict", run, other, "--out", tmp_path / "s.tsv")
    assert said.code == 2
    assert "10 of them are missing (991, 992, 993, ...)" in said.err


def test_evaluate_on_genotypes_agrees_with_python(call, run):
    said = call("evaluate", run, BED, *LABEL_OPTIONS, "--threads", 1)
    data = sl.data.GenotypeDataset(BED, sl.data.Labels(TRAIT, label_column="Y1"))
    expected = sl.infer.evaluate(run, data, num_threads=1)["r2"]
    assert f"{expected:.4f}" in said.out


def test_train_uses_the_fam_phenotype_as_default_label(call, tmp_path):
    said = call("train", BED, *SHORT_TRAINING_OPTIONS, "--out", tmp_path / "run")
    assert said.code == 0
    assert sl.models.load(tmp_path / "run").classes == ("phenotype",)


def test_cross_validation_on_genotypes_saves_a_run_for_each_fold(call, tmp_path):
    said = call(
        "train",
        BED,
        *LABEL_OPTIONS,
        *SHORT_TRAINING_OPTIONS,
        "--folds",
        2,
        "--out",
        tmp_path / "run",
    )
    assert said.code == 0
    digests = [sl.models.load(tmp_path / f"run/fold-{i}").encoder.digest for i in (1, 2)]
    assert digests[0] != digests[1]


def test_covariates_apply_to_train_predict_and_evaluate(call, tmp_path):
    also = ["--covariates", COVARIATES, "--threads", 1]
    train = ["train", BED, *LABEL_OPTIONS, *also, "--covariate-column", "V2", "--epochs", 2]
    assert call(*train, "--out", tmp_path / "run").code == 0
    assert sl.models.load(tmp_path / "run").encoder.covariate_names == ("V2",)
    assert call("evaluate", tmp_path / "run", BED, *LABEL_OPTIONS, *also).code == 0
    words = ["predict", tmp_path / "run", BED, "--out", tmp_path / "s.tsv"]
    assert call(*words, *also).code == 0
    said = call(*words, "--overwrite")
    assert said.code == 2
    assert "covariates V2: give --covariates TABLE" in said.err


def test_unused_covariates_are_ignored_with_a_note_that_names_them(call, run, tmp_path):
    lines = COVARIATES.read_text().splitlines()
    more = [f"{line} {'site' if not n else 'Oslo'}" for n, line in enumerate(lines)]
    (tmp_path / "more.txt").write_text("\n".join(more))
    train = [
        "train",
        BED,
        *LABEL_OPTIONS,
        "--covariates",
        COVARIATES,
        *SHORT_TRAINING_OPTIONS,
        "--test",
        BED,
    ]
    assert call(*train, "--out", tmp_path / "with").code == 0
    also = ["--covariates", tmp_path / "more.txt", "--threads", 1]
    said = call("predict", tmp_path / "with", BED, *also, "--out", tmp_path / "s.tsv")
    assert said.code == 0
    scores = (tmp_path / "s.tsv").read_text()
    assert scores == (tmp_path / "with/scores-test.tsv").read_text()
    assert "covariates ignored because the model does not use them: 1 (site)" in said.out
    assert call("evaluate", tmp_path / "with", BED, *LABEL_OPTIONS, *also).code == 0
    said = call("predict", run, BED, *also, "--out", tmp_path / "t.tsv")
    assert (said.code, "warning: the model reads no covariates" in said.err) == (0, True)


@pytest.mark.parametrize("is_exchanged", [False, True])
def test_variants_with_one_missing_allele_give_the_same_scores(
    call, run, tmp_path, is_exchanged
):
    other = write_other(tmp_path, np.arange(1000))
    bed = sl.io.open_bed(other)
    copies, four = np.ascontiguousarray(bed.read(dtype="int8")[:4]), slice(4)
    is_known = (copies >= 0).all(0)
    lacks = (is_known & (copies == 0).all(0), is_known & (copies == 2).all(0))
    alleles = {name: bed.property_item(name) for name in ("allele_1", "allele_2")}
    for name, lack in zip(alleles, lacks, strict=True):
        alleles[name] = np.where(lack, np.array("0"), np.asarray(alleles[name]))
    properties = {**bed.properties, **alleles}
    properties = {
        name: it[four] if it.size == bed.iid_count else it
        for name, it in properties.items()
    }
    if is_exchanged:
        copies = np.where(copies >= 0, 2 - copies, copies)
        first, second = properties["allele_1"], properties["allele_2"]
        properties |= {"allele_1": second, "allele_2": first}
    sl.io.to_bed(tmp_path / "four.bed", copies, properties=properties)
    words = ["predict", run, tmp_path / "four.bed", "--threads", 1]
    said = call(*words, "--out", tmp_path / "s.tsv")
    assert said.code == 0, said.err
    expected = (run / "scores-test.tsv").read_text().splitlines()[:5]
    assert (tmp_path / "s.tsv").read_text().splitlines() == expected
    count = int(sum(lack.sum() for lack in lacks))
    assert count > 100
    assert f"matched by the other allele: {count}\n" in said.out


def test_resuming_a_genotype_run_gives_bitwise_equal_weights(call, run):
    before = (run / "model.safetensors").read_bytes()
    words = [
        BED,
        *LABEL_OPTIONS,
        *SHORT_TRAINING_OPTIONS,
        "--test",
        BED,
        "--out",
        run,
        "--resume",
    ]
    assert call("train", *words).code == 0
    assert (run / "model.safetensors").read_bytes() == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([BED, "--alphabet", "dna"], "--alphabet: only for sequences"),
        ([BED, "--label-from-header", "x"], "--label-from-header: only for sequences"),
        ([BED, BED], "must be a single .bed"),
        ([BED, *LABEL_OPTIONS[:4]], "choose with label_column of Labels (--label-column)"),
        ([BED, "--covariate-column", "V1"], "--covariate-column needs --covariates"),
        ([BED, "--covariates", "none.txt"], "none.txt: no such file"),
        (
            [FASTA, "--labels", TABLE, "--covariates", COVARIATES, "--coding", "12"],
            "--covariates and --coding: only for genotypes",
        ),
    ],
)
def test_options_for_sequences_are_rejected_for_genotypes(call, tmp_path, words, said):
    found = call("train", *words, *SHORT_TRAINING_OPTIONS, "--out", tmp_path / "run")
    assert found.code == 2
    assert said in found.err
    assert not (tmp_path / "run").exists()


def test_a_genotype_model_rejects_sequences(call, run, tmp_path):
    said = call("predict", run, FASTA, "--out", tmp_path / "s.tsv")
    assert said.code == 2
    assert "the model reads genotypes (a PLINK .bed), but FILES are sequences" in said.err


def test_a_sequence_model_rejects_genotypes(call, trained, tmp_path):
    said = call("predict", trained, BED, "--out", tmp_path / "s.tsv")
    assert said.code == 2
    assert "the model reads sequences, but FILES are genotypes" in said.err


def test_a_text_file_named_bed_is_an_error(call, tmp_path):
    (tmp_path / "genes.bed").write_text("chr1\t10\t20\n")
    said = call("train", tmp_path / "genes.bed", "--out", tmp_path / "run")
    assert said.code == 2
    assert "genes" in said.err


@pytest.mark.parametrize("read", ["own.fam", "own.bim", "own.bed", "own.txt"])
def test_predict_does_not_overwrite_its_inputs(call, run, tmp_path, read):
    for source in (BED, BED.with_suffix(".bim"), BED.with_suffix(".fam"), COVARIATES):
        (tmp_path / f"own{source.suffix}").write_bytes(source.read_bytes())
    before = (tmp_path / read).read_bytes()
    words = ["--covariates", tmp_path / "own.txt", "--out", tmp_path / read]
    said = call("predict", run, tmp_path / "own.bed", *words)
    assert (said.code, "is also an input file" in said.err) == (2, True)
    assert (tmp_path / read).read_bytes() == before


def write_filled_up(folder):
    """Write the first 498 samples of the example with different padding codes."""
    bed = sl.io.open_bed(BED)
    properties = {
        name: it[:498] if np.asarray(it).size == bed.iid_count else it
        for name, it in bed.properties.items()
    }
    path = folder / "x.bed"
    sl.io.to_bed(path, bed.read(np.s_[:498, :]), properties=properties)
    content = np.frombuffer(path.read_bytes(), np.uint8).copy()
    content[3 + 124 :: 250] |= 0xF0
    content[3 + 124] &= 0x5F
    path.write_bytes(content.tobytes())
    return path


def test_train_can_skip_the_check_of_the_padding_bits_of_a_bed(call, tmp_path):
    bed, folder = write_filled_up(tmp_path), tmp_path / "run"
    commands = (
        ["train", bed, *LABEL_OPTIONS, *SHORT_TRAINING_OPTIONS, "--out", folder],
        ["evaluate", folder, bed, *LABEL_OPTIONS],
        ["predict", folder, bed, "--out", tmp_path / "s.tsv"],
    )
    for words in commands:
        said = call(*words)
        assert (said.code, "--skip-format-check" in said.err) == (2, True)
        assert call(*words, "--skip-format-check").code == 0
    said = call("train", FASTA, "--labels", TABLE, "--skip-format-check", "--out", "r")
    assert "--skip-format-check: only for genotypes" in said.err


def test_training_on_a_bed_without_labels_is_an_error(call, tmp_path):
    sl.io.to_bed(tmp_path / "x.bed", np.eye(4, dtype="int8"))
    said = call("train", tmp_path / "x.bed", "--out", tmp_path / "run")
    assert said.code == 2
    assert "x.bed: contains no labels: give --labels TABLE" in said.err
    assert "task None" not in said.out


@pytest.mark.parametrize("words", [["--groups", "g.tsv"], ["--group-column", "fid"]])
def test_a_validation_split_of_genotypes_keeps_groups_together(
    call, tmp_path, monkeypatch, words
):
    monkeypatch.chdir(tmp_path)
    bed = sl.io.open_bed(BED)
    families = np.array([f"f{i % 50}" for i in range(bed.iid_count)])
    sl.io.to_bed("a.bed", bed.read(), properties={**bed.properties, "fid": families})
    family = dict(zip(bed.iid.tolist(), families.tolist(), strict=True))
    rows = "".join(f"{name}\t{group}\n" for name, group in family.items())
    Path("g.tsv").write_text(f"IID\tgroup\n{rows}")
    said = call(
        "train", "a.bed", *LABEL_OPTIONS, *SHORT_TRAINING_OPTIONS, *words, "--out", "run"
    )
    assert said.code == 0, said.err
    lines = Path("run/scores-valid.tsv").read_text().splitlines()[1:]
    held = {family[line.split("\t")[0]] for line in lines}
    assert sum(group in held for group in family.values()) == len(lines)


def test_mixing_sequence_and_genotype_files_is_an_error_that_names_two_files(
    call, tmp_path
):
    """Train for about 0.1 s."""
    (tmp_path / "a.fa").write_text(">a\nACGT\n")
    sl.io.to_bed(tmp_path / "x.bed", [[0, 1], [2, 1]])
    said = call("train", tmp_path / "a.fa", "--valid", tmp_path / "x.bed", "--out", "run")
    assert said.code == 2
    assert "a.fa contains sequences" in said.err
    assert "x.bed contains genotypes" in said.err
