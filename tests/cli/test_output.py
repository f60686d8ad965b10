"""JSON, pipes, quiet commands, and files that are replaced."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from seqloom import _demo
from seqloom.report import wilson_interval

TEST, TEST_LABELS = _demo.example_path("test.fa.gz"), _demo.example_path("test.tsv")


@pytest.fixture
def few(tmp_path, monkeypatch):
    """A working directory with eight labelled sequences."""
    monkeypatch.chdir(tmp_path)
    texts = ["ACGTTACG" if number % 2 else "GGCCACGG" for number in range(8)]
    lines = [f">s{number}\n{text}\n" for number, text in enumerate(texts)]
    Path("few.fa").write_text("".join(lines))
    rows = [f"s{number}\t{'at' if number % 2 else 'gc'}\n" for number in range(8)]
    Path("few.tsv").write_text("id\tlabel\n" + "".join(rows))
    words = "train few.fa --labels few.tsv --alphabet dna --epochs 1 --out run"
    return words.split()


def test_predict_reads_standard_input_and_writes_standard_output(trained):
    words = ["predict", str(trained), "-", "--out", "-"]
    done = subprocess.run(
        [sys.executable, "-m", "seqloom", *words],
        input=TEST.read_bytes(),
        capture_output=True,
        check=True,
    )
    assert done.stdout == (trained / "scores-test.tsv").read_bytes()
    assert b"scored 1,186 sequences: standard output" in done.stderr


def test_standard_input_cannot_be_combined_with_files(call, trained):
    said = call("predict", trained, "-", TEST, "--out", "-")
    assert (said.code, "standard input must be the only input" in said.err) == (2, True)


def test_an_unknown_option_of_predict_is_not_read_as_a_file(call, trained):
    said = call("predict", trained, TEST, "--quite", "--out", "-")
    assert (said.code, "Unknown option: --quite" in said.err) == (2, True)


def test_predict_with_the_option_quiet_prints_nothing(call, trained, tmp_path):
    said = call("predict", trained, TEST, "--out", tmp_path / "s.tsv", "--quiet")
    assert (said.code, said.out, said.err) == (0, "", "")
    assert (tmp_path / "s.tsv").exists()


def test_evaluate_prints_json(call, trained):
    said = call("evaluate", trained, TEST, "--labels", TEST_LABELS, "--json")
    found = json.loads(said.out)
    assert (found["task"], found["metrics"]["n"]) == ("classify", 1186)
    hits = round(found["metrics"]["accuracy"] * 1186)
    assert found["intervals"]["accuracy"] == list(wilson_interval(hits, 1186))
    assert "1,186 sequences" in said.err


def test_evaluate_with_the_option_quiet_prints_only_its_table(call, trained):
    said = call("evaluate", trained, TEST, "--labels", TEST_LABELS, "--quiet")
    assert "accuracy" in said.out
    assert "backend" not in said.out + said.err


def test_train_with_the_option_quiet_prints_only_warnings(call, few):
    said = call(*few, "--valid", "few.fa", "--quiet")
    assert (said.code, said.out) == (0, "")
    assert said.err.splitlines()[0].startswith("warning: --valid few.fa is also a training")


def test_train_json_prints_progress_and_notes_to_standard_error(call, few):
    said = call(*few, "--valid", "few.fa", "--json")
    found = json.loads(said.out)
    assert (found["folder"], found["epochs"], found["best_epoch"]) == ("run", 1, 1)
    assert found["classes"] == ["at", "gc"]
    assert found["validation"]["n"] == 8
    assert "samples/s" in said.err


def test_train_json_of_cross_validation_contains_mean_metrics(call, few):
    found = json.loads(call(*few, "--folds", 2, "--json", "--quiet").out)
    values = [fold["validation"]["accuracy"] for fold in found["folds"]]
    assert found["mean"]["accuracy"] == pytest.approx(sum(values) / 2)


def test_json_output_has_null_for_nan(call, few):
    Path("one.fa").write_text(">s0\nGGCCACGG\n")
    said = call(*few, "--valid", "one.fa", "--json", "--quiet")
    assert json.loads(said.out)["validation"]["auroc"] is None


def test_network_options_of_train_set_the_architecture(call, few):
    words = "--width 4 6 --kernel-size 3 --dropout 0.25 --weight-decay 0.5"
    assert call(*few, *words.split()).code == 0
    model = json.loads(Path("run/config.json").read_text())["model"]
    assert (model["widths"], model["kernel_size"], model["dropout"]) == ([4, 6], 3, 0.25)
    assert "weight decay" in Path("run/report.html").read_text()


def test_the_option_width_keeps_the_default_kernel_size(call, few):
    assert call(*few, "--width", 4, 4, 4, 4).code == 0
    model = json.loads(Path("run/config.json").read_text())["model"]
    assert model["kernel_size"] == [3, 5, 5, 5]


def test_training_with_an_even_kernel_size_is_an_error(call, few):
    said = call(*few, "--kernel-size", 4)
    assert (said.code, "kernel_size must be odd" in said.err) == (2, True)


def test_the_option_reverse_complement_augments_only_training_records(call, few):
    assert call(*few, "--valid", "few.fa").code == 0
    plain = Path("run/metrics.jsonl").read_text()
    assert call(*few, "--valid", "few.fa", "--reverse-complement", "--overwrite").code == 0
    rows = [json.loads(text) for text in (plain, Path("run/metrics.jsonl").read_text())]
    assert rows[0]["train_loss"] != rows[1]["train_loss"]
    said = call("predict", "run", "few.fa", "--out", "-")
    assert said.out == Path("run/scores-valid.tsv").read_text()


def test_resuming_a_run_with_another_augmentation_is_an_error(call, few):
    assert call(*few).code == 0
    said = call(*few, "--reverse-complement", "--resume")
    assert (said.code, "augmentation" in said.err) == (2, True)


def test_proteins_have_no_reverse_complement(call, few):
    few[few.index("dna")] = "protein"
    said = call(*few, "--reverse-complement")
    assert (said.code, "is for DNA and RNA, not protein" in said.err) == (2, True)


def make_set(name):
    """Write a small PLINK set."""
    import numpy as np

    import seqloom as sl

    sl.io.to_bed(name, np.array([[0, 1, 2], [2, 1, 0], [1, 0, 2]], np.int8))


COMMANDS_THAT_REPLACE_FILES = {
    "convert": ("convert few.fa there.fa", "there.fa"),
    "predict": ("predict run few.fa --out there.tsv", "there.tsv"),
    "inspect": ("inspect few.fa --plot there.svg", "there.svg"),
    "bed inspect": ("bed stats x.bed --out there.tsv", "there.tsv"),
    "bed stats": ("bed stats x.bed --plot there.svg", "there.svg"),
    "bed subset": ("bed subset x.bed there.bed --exclude one.txt", "there.bed"),
    "bed convert": ("bed convert x.bed there.npy", "there.npy"),
    "demo": ("demo --files .", "train.tsv"),
}


@pytest.mark.parametrize(
    ("words", "name"), COMMANDS_THAT_REPLACE_FILES.values(), ids=COMMANDS_THAT_REPLACE_FILES
)
def test_existing_files_are_replaced_only_with_overwrite(call, few, words, name):
    if words.startswith("predict"):
        call(*few)
    if words.startswith("bed"):
        make_set("x.bed")
        Path("one.txt").write_text("sid1\n")
    Path(name).write_text("mine")
    said = call(*words.split())
    assert said.code == 2
    assert f"{name}: already exists" in said.err
    assert "--overwrite" in said.err
    assert Path(name).read_text() == "mine"
    assert call(*words.split(), "--overwrite").code == 0
    assert Path(name).read_bytes() != b"mine"


def test_predict_can_write_scores_to_an_open_file():
    import numpy as np

    from seqloom.infer import Scores

    written = io.StringIO()
    Scores(["a"], ["gc"], np.array([[0.5]])).to_tsv(written)
    assert written.getvalue() == "id\tgc\na\t0.5\n"


def test_the_suffix_of_the_output_sets_the_format_of_predict(call, few, trained):
    del few
    Path("new.fa").write_text(">a,b\n" + "ACGT" * 15 + "\n")
    assert call("predict", trained, "new.fa", "--out", "s.csv").code == 0
    assert Path("s.csv").read_text().splitlines()[1].startswith('"a,b",')
    assert call("explain", trained, "new.fa", "--out", "w.csv").code == 0
    assert Path("w.csv").read_text().splitlines()[0] == "id,target,position,letter,weight"
    said = call("predict", trained, "none.fa", "--out", "s.xlsx")
    assert "not as .xlsx; a spreadsheet program opens .csv" in said.err
    assert said.code != 0


def test_the_error_for_evaluating_an_export_suggests_the_run_folder(call, few, trained):
    del few
    assert call("export", trained, "--out", "made").code == 0
    said = call("evaluate", "made", TEST, "--labels", TEST_LABELS)
    assert "pass the run folder that it was exported from" in said.err
