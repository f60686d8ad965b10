"""``seqloom train``, ``predict`` and ``evaluate`` on sequence files."""

import gzip
import json
import re
from pathlib import Path

import numpy as np
import pytest

import seqloom as sl
from seqloom import _demo

TRAIN, LABELS = _demo.example_path("train.fa.gz"), _demo.example_path("train.tsv")
TEST, TEST_LABELS = _demo.example_path("test.fa.gz"), _demo.example_path("test.tsv")
DATA_OPTIONS = ["--labels", LABELS, TEST_LABELS, "--test", TEST, "--seed", 3]


def metric(text, name):
    """Return the last number in the line of a metric."""
    return float(re.search(rf"{name} .*?([0-9.]+)\s*$", text, re.MULTILINE)[1])


def test_predict_gives_the_test_scores_that_train_saved(call, trained, tmp_path):
    said = call("predict", trained, TEST, "--out", tmp_path / "scores.tsv")
    assert said.code == 0
    assert (tmp_path / "scores.tsv").read_bytes() == (
        trained / "scores-test.tsv"
    ).read_bytes()


def test_evaluate_counts_equal_those_of_the_scores_file(call, trained):
    rows = [
        line.split("\t") for line in (trained / "scores-test.tsv").read_text().split("\n")
    ]
    called = {row[0]: rows[0][1 + np.argmax([*map(float, row[1:])])] for row in rows[1:-1]}
    truth = dict(line.split("\t")[:2] for line in TEST_LABELS.read_text().splitlines()[1:])
    right = np.mean([called[name] == truth[name].strip() for name in called])
    said = call("evaluate", trained, TEST, "--labels", TEST_LABELS)
    assert metric(said.out, "accuracy") == pytest.approx(right, abs=5e-5)


def test_evaluate_warns_if_its_input_is_a_training_file(call, trained, tmp_path):
    copy = tmp_path / "copy.fa.gz"
    copy.write_bytes(TRAIN.read_bytes())
    said = call("evaluate", trained, copy, "--labels", LABELS)
    assert f"warning: the model was trained on {copy}" in said.out


def test_evaluate_does_not_warn_about_files_outside_the_training_set(call, trained):
    said = call("evaluate", trained, TEST, "--labels", TEST_LABELS)
    assert "the model was trained on" not in said.out


def test_evaluate_warns_about_records_of_the_training_set(call, trained):
    said = call("evaluate", trained, TEST, "--labels", TEST_LABELS)
    taught, asked = (
        gzip.decompress(path.read_bytes()).decode().split("\n")[1::2]
        for path in (TRAIN, TEST)
    )
    found = re.search(r"warning: (\d+) of 1,186 records duplicate", said.err)
    most = sum(window in set(taught) for window in asked)
    # A tenth of the windows was the validation set.
    assert 0.8 * most < int(found[1]) <= most


def test_a_validation_split_shares_no_sequence_with_training(call, tmp_path):
    random = np.random.default_rng(1)
    rows = ["".join(random.choice(list("ACGT"), 20)) for _ in range(60)]
    text = "".join(f"{row},{'xy'[at % 2]}\n" for at, row in enumerate(rows * 2))
    (tmp_path / "twice.csv").write_text(f"sequence,label\n{text}")
    words = ["train", tmp_path / "twice.csv", "--epochs", 1, "--valid-share", 0.3]
    said = call(*words, "--out", tmp_path / "r")
    assert "duplicate training sequences" not in said.err
    scores = (tmp_path / "r/scores-valid.tsv").read_text().splitlines()[1:]
    ids = {int(line.split("\t")[0]) % 60 for line in scores}
    assert 2 * len(ids) == len(scores)


def test_train_warns_about_a_sequence_with_two_classes(call, tmp_path):
    (tmp_path / "one.fa").write_text(">a\nACGTAC\n>b\nTTTTGA\n>c\nACACAC\n")
    (tmp_path / "two.fa").write_text(">d\nGGGTAC\n>e\nttttga\n>f\nCCACAC\n")
    files = [tmp_path / "one.fa", tmp_path / "two.fa"]
    words = ["--label-from-file", "--alphabet", "dna", "--epochs", 1, "--valid-share", 0]
    said = call("train", *files, *words, "--out", tmp_path / "r")
    assert (
        "warning: 1 sequence has more than one class, such as 'b' (one) and 'e' (two)"
        in said.err
    )
    for name in ("report.html", "README.md"):
        text = (tmp_path / "r" / name).read_text()
        assert "1 sequence has more than one class" in text


def test_the_model_card_lists_the_input_files(trained):
    card = (trained / "README.md").read_text()
    assert "| training files | train.fa.gz |" in card
    assert "| test files | test.fa.gz |" in card


def test_predict_warns_about_dna_for_a_protein_model(call, tmp_path):
    rows = [f"MKVLAAGIVGLLLAQW,{'xy'[i % 2]}\n" for i in range(80)]
    (tmp_path / "p.csv").write_text("sequence,label\n" + "".join(rows))
    words = ["train", tmp_path / "p.csv", "--epochs", 1, "--out", tmp_path / "r"]
    assert call(*words).code == 0
    (tmp_path / "dna.csv").write_text("sequence\n" + "ACGTACGTACGTACGT\n" * 80)
    words = ["predict", tmp_path / "r", tmp_path / "dna.csv", "--out", tmp_path / "s.tsv"]
    said = call(*words)
    assert "look like dna, but the model was trained on protein" in said.err


def test_predict_does_not_warn_about_proteins_for_a_protein_model(call, tmp_path):
    rows = [f"MKVLAAGIVGLLLAQW,{'xy'[i % 2]}\n" for i in range(80)]
    (tmp_path / "p.csv").write_text("sequence,label\n" + "".join(rows))
    call("train", tmp_path / "p.csv", "--epochs", 1, "--out", tmp_path / "r")
    words = ["predict", tmp_path / "r", tmp_path / "p.csv", "--out", tmp_path / "s.tsv"]
    assert "warning" not in call(*words).err


def test_predict_warns_about_unseen_lengths(call, tmp_path):
    path = tmp_path / "t.csv"
    rows = [f"ACGTACGTACGT{'ACGT' * (i % 2)},{'xy'[i % 2]}\n" for i in range(8)]
    path.write_text("sequence,label\n" + "".join(rows))
    words = ["train", path, "--alphabet", "dna", "--epochs", 1, "--out", tmp_path / "r"]
    call(*words)
    (tmp_path / "new.fa").write_text(f">a\n{'ACGT' * 3}\n>b\n{'ACGT' * 5}\n")
    words = ["predict", tmp_path / "r", tmp_path / "new.fa", "--out", tmp_path / "s.tsv"]
    said = call(*words)
    assert said.code == 0
    assert (
        "warning: 1 of 2 sequences have 20 residues, but the model was trained on 12 to 16"
    ) in said.err


def test_the_first_line_of_train_shows_backend_device_and_threads(call, trained, tmp_path):
    said = call("predict", trained, TEST, "--out", tmp_path / "s.tsv", "--threads", 1)
    assert re.match(r"seqloom \S+, backend numpy, device cpu, 1 thread\n", said.out)


def test_an_existing_run_is_not_replaced(call, trained):
    before = (trained / "model.safetensors").read_bytes()
    said = call("train", TRAIN, *DATA_OPTIONS, "--out", trained, "--epochs", 2)
    assert said.code == 2
    assert "--resume" in said.err
    assert (trained / "model.safetensors").read_bytes() == before


def test_resuming_a_finished_run_does_not_change_its_model(call, trained):
    before = (trained / "model.safetensors").read_bytes()
    said = call("train", TRAIN, *DATA_OPTIONS, "--out", trained, "--epochs", 2, "--resume")
    assert said.code == 0
    assert (trained / "model.safetensors").read_bytes() == before


def test_resuming_a_run_with_other_settings_is_an_error(call, trained):
    words = ["--out", trained, "--epochs", 2, "--lr", 1, "--resume"]
    said = call("train", TRAIN, *DATA_OPTIONS, *words)
    assert said.code == 2
    assert "started with lr 0.001, not 1.0 (lr=, --lr): resume it with" in said.err


@pytest.fixture
def begun(call, few):
    """A run folder of two epochs with options that differ from the defaults."""
    words = ["--labels", few / "few.tsv", "--label-column", "rich", "--lr", 0.01]
    words += ["--width", 8, 16, "--batch-size", 7, "--seed", 5, "--reverse-complement"]
    assert (
        call("train", few / "few.fa", *words, "--epochs", 2, "--out", few / "run").code == 0
    )
    return few / "run"


def test_predict_and_evaluate_average_over_the_reverse_complement(call, trained, tmp_path):
    words = ["predict", trained, TEST, "--reverse-complement"]
    assert call(*words, "--out", tmp_path / "both.tsv").code == 0
    both = sl.infer.predict(trained, TEST, reverse_complement=True)
    found = sl.infer.Scores.read_tsv(tmp_path / "both.tsv").to_numpy()
    assert np.allclose(found, both.to_numpy(), atol=1e-6)
    words = ["evaluate", trained, TEST, "--labels", TEST_LABELS, "--json"]
    plain, averaged = (
        json.loads(call(*words, *more).out)["metrics"]
        for more in ((), ("--reverse-complement",))
    )
    assert plain["auroc"] != averaged["auroc"]


def test_resume_restores_clipping_accumulation_averaging_and_drop_last(call, few):
    words = ["train", few / "few.fa", "--labels", few / "few.tsv"]
    words += ["--label-column", "rich", "--out", few / "run", "--batch-size", 7]
    words += ["--clip-norm", 0.5, "--accumulate", 2, "--weight-average", 0.9, "--drop-last"]
    assert call(*words, "--epochs", 1).code == 0
    settings = json.loads((few / "run/results.json").read_text())["settings"]
    found = [settings[name] for name in ("clip norm", "accumulate", "weight average")]
    assert (found, settings["drop last"]) == ([0.5, 2, 0.9], True)
    said = call("train", "--out", few / "run", "--resume", "--epochs", 2)
    assert (said.code, said.err) == (0, "")
    other = [*words, "--epochs", 3, "--resume"]
    other[other.index("--weight-average") + 1] = "equal"
    assert "(weight_average=, --weight-average)" in call(*other).err


def test_resume_reads_all_options_from_the_run_folder(call, begun):
    before = (begun / "model.safetensors").read_bytes()
    said = call("train", "--out", begun, "--resume")
    assert (said.code, said.err) == (0, "")
    assert (begun / "model.safetensors").read_bytes() == before


def test_options_given_to_resume_are_saved_for_the_next_resume(call, begun):
    assert call("train", "--out", begun, "--resume", "--epochs", 3).code == 0
    said = call("train", "--out", begun, "--resume")
    assert said.code == 0
    assert len((begun / "metrics.jsonl").read_text().splitlines()) == 3


def test_the_error_of_resume_lists_all_options_that_differ(call, begun):
    words = ["--lr", 1, "--seed", 0, "--width", 8, "--batch-size", 64]
    said = call("train", "--out", begun, "--resume", *words)
    assert said.code == 2
    for found in ("lr 0.01, not 1.0", "seed 5, not 0", "batch_size 7, not 64", "width"):
        assert found in said.err


def test_resuming_in_another_folder_needs_the_input_files(call, few, begun):
    kept = json.loads((begun / "command.json").read_text())
    kept["files"] = ["gone.fa"]
    (begun / "command.json").write_text(json.dumps(kept))
    said = call("train", "--out", begun, "--resume")
    assert said.code == 2
    assert "gone.fa: no such file here" in said.err
    assert "give FILES again" in said.err
    assert call("train", few / "few.fa", "--out", begun, "--resume").code == 0


def test_the_error_for_another_augmentation_on_resume_names_its_option(call, trained):
    words = ["train", TRAIN, *DATA_OPTIONS, "--epochs", 2, "--out", trained, "--resume"]
    said = call(*words, "--reverse-complement")
    assert said.code == 2
    assert "augmentation None, not ReverseComplement(p=0.5" in said.err
    assert "(augment=, --reverse-complement): resume it with" in said.err


@pytest.fixture
def few(tmp_path):
    """Forty sequences of different lengths with their GC content."""
    rng = np.random.default_rng(0)
    lines, table = [], ["id\tgc\trich\teven"]
    for number in range(40):
        letters = "".join(rng.choice(list("ACGT"), 30 + number, p=[0.3, 0.2, 0.2, 0.3]))
        share = (letters.count("G") + letters.count("C")) / len(letters)
        lines.append(f">s{number} class={'rich' if share > 0.4 else 'poor'}\n{letters}\n")
        table.append(f"s{number}\t{share:.4f}\t{int(share > 0.4)}\t{(number + 1) % 2}")
    (tmp_path / "few.fa").write_text("".join(lines))
    (tmp_path / "few.tsv").write_text("\n".join(table) + "\n")
    return tmp_path


@pytest.mark.parametrize(
    ("letter", "options"),
    [("-", ["--symbols", "zeros"]), (".", ["--symbols", "keep"]), ("U", ["--rna-as-dna"])],
)
def test_the_option_for_rare_residues_does_not_need_an_alphabet(call, few, letter, options):
    file = few / "few.fa"
    file.write_text(file.read_text().replace("T", letter, 1))
    words = ["--label-from-header", r"class=(\w+)", "--epochs", 1, *options]
    assert call("train", file, *words, "--out", few / "run").code == 0
    told = json.loads((few / "run/config.json").read_text())
    assert told["encoder"]["alphabet"] == "dna"


def test_labels_can_come_from_headers(call, few):
    words = ["--label-from-header", r"class=(\w+)", "--epochs", 1, "--valid-share", 0]
    said = call("train", few / "few.fa", *words, "--out", few / "run")
    assert said.code == 0
    assert "poor" in said.out
    assert "kept   epoch 1 of 1, the last" in said.out


def test_numeric_labels_train_a_regression(call, few):
    table = ["--labels", few / "few.tsv", "--label-column", "gc"]
    words = [*table, "--task", "regress", "--epochs", 2, "--out", few / "run"]
    assert call("train", few / "few.fa", *words).code == 0
    said = call("evaluate", few / "run", few / "few.fa", "--labels", few / "few.tsv")
    assert {"r2", "pearson", "RMSE"} <= set(said.out.split())


def test_the_prediction_column_of_a_regression_has_the_label_name(call, few):
    table = ["--labels", few / "few.tsv", "--label-column", "gc"]
    words = [*table, "--task", "regress", "--epochs", 1, "--out", few / "run"]
    call("train", few / "few.fa", *words)
    call("predict", few / "run", few / "few.fa", "--out", few / "scores.tsv")
    assert (few / "scores.tsv").read_text().splitlines()[0] == "id\tgc"


def test_cross_validation_saves_a_run_for_each_fold_and_prints_the_mean(call, few):
    table = ["--labels", few / "few.tsv", "--label-column", "rich"]
    said = call(
        "train", few / "few.fa", *table, "--epochs", 1, "--folds", 3, "--out", few / "runs"
    )
    assert said.code == 0
    assert "fold 3 of 3" in said.out
    assert "deviation" in said.out
    assert sorted(path.name for path in (few / "runs").iterdir()) == [
        "fold-1",
        "fold-2",
        "fold-3",
    ]


def test_train_can_skip_and_count_unlabelled_sequences(call, few):
    table = (few / "few.tsv").read_text().splitlines(keepends=True)
    (few / "less.tsv").write_text("".join(table[:-3]) + "ghost\t0.5\t1\t1\n")
    labels = [
        "--labels",
        few / "less.tsv",
        "--label-column",
        "rich",
        "--unlabelled",
        "skip",
    ]
    said = call("train", few / "few.fa", *labels, "--epochs", 1, "--out", few / "run")
    assert "sequences skipped because they have no label: 3 (s37, s38, s39)" in said.out
    assert "labels without a sequence in these files: 1 (ghost)" in said.out


def test_one_model_can_be_trained_on_several_label_columns(call, few):
    table = [
        "--labels",
        few / "few.tsv",
        "--label-column",
        "rich",
        "--label-column",
        "even",
    ]
    said = call("train", few / "few.fa", *table, "--epochs", 1, "--out", few / "run")
    assert said.code == 0
    assert "AUROC" in said.out
    assert "95 % interval" not in said.out  # in this table, records have several labels


def test_the_best_epoch_is_selected_by_the_validation_file(call, few):
    table = ["--labels", few / "few.tsv", "--label-column", "rich"]
    words = [*table, "--valid", few / "few.fa", "--epochs", 1, "--out", few / "run"]
    assert call("train", few / "few.fa", *words).code == 0
    row = json.loads(Path(few / "run" / "metrics.jsonl").read_text())
    assert "valid_loss" in row


def test_training_and_test_sequences_may_have_different_lengths(call, tmp_path):
    cut, home = tmp_path / "cut.fa", tmp_path / "run"
    cut.write_bytes(gzip.decompress(TEST.read_bytes()).replace(b"\nC", b"\n"))
    words = ["--labels", LABELS, TEST_LABELS, "--epochs", 1, "--out", home]
    assert call("train", TRAIN, *words, "--test", cut).code == 0
    assert json.loads((home / "config.json").read_text())["model"]["length"] is None
    assert call("predict", home, cut, "--out", tmp_path / "s.tsv").code == 0


def test_one_label_table_can_contain_the_labels_of_all_sets(call, few):
    (few / "more.tsv").write_text((few / "few.tsv").read_text() + "ghost\t0.5\t1\t1\n")
    records = (few / "few.fa").read_text().split(">")[1:]
    for name, part in (("train", records[:30]), ("valid", records[30:35])):
        (few / f"{name}.fa").write_text("".join(f">{record}" for record in part))
    (few / "test.fa").write_text("".join(f">{record}" for record in records[35:39]))
    words = ["--valid", few / "valid.fa", "--test", few / "test.fa", "--epochs", 1]
    table = ["--labels", few / "more.tsv", "--label-column", "rich"]
    said = call("train", few / "train.fa", *words, *table, "--out", few / "run")
    assert "labels without a sequence in these files: 2 (s39, ghost)" in said.out


def test_predict_writes_to_the_target_of_a_symbolic_link(call, trained, tmp_path):
    link = tmp_path / "link.tsv"
    link.symlink_to("target.tsv")
    assert call("predict", trained, TEST, "--out", link).code == 0
    assert link.is_symlink()
    assert (tmp_path / "target.tsv").read_bytes().startswith(b"id\t")


def test_train_warns_about_training_files_used_for_testing(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.fa").write_text(">a\nACGT\n>b\nACGA\n>c\nACGC\n")
    Path("b.fa").write_text(">d\nACGT\n")
    labels = "id\tlabel\na\tx\nb\ty\nc\tz\nd\tx\n"
    Path("t.tsv").write_text(labels)
    words = "train a.fa --labels t.tsv --alphabet dna --epochs 1 --out r --valid"
    said = call(*words.split(), "b.fa", "--test", "a.fa")
    assert said.code == 0
    assert "warning: --test a.fa is also a training file" in said.out
    assert "warning: 3 classes for 3 sequences" in said.out


def _train_on(call, labels):
    """Train on one record for each label."""
    Path("a.fa").write_text("".join(f">r{i}\nACGT\n" for i in range(len(labels))))
    rows = [f"r{number}\t{label}\n" for number, label in enumerate(labels)]
    Path("t.tsv").write_text("id\tlabel\n" + "".join(rows))
    words = "train a.fa --labels t.tsv --alphabet dna --epochs 1 --out r --overwrite"
    return call(*words.split())


def test_train_warns_about_a_class_with_one_record(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = _train_on(call, ["free"] * 5 + ["bound"] * 4 + ["boundd"])
    assert "warning: the class 'boundd' has a single sequence" in said.out


def test_train_warns_about_a_class_with_few_records(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = _train_on(call, ["free"] * 60 + ["bound"] * 50 + ["rare"] * 3)
    assert "warning: classes with fewer than 10 sequences: 'rare' (3)" in said.out


def test_train_warns_about_classes_that_differ_only_in_case(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = _train_on(call, ["free"] * 4 + ["Bound"] * 3 + ["bound"] * 3)
    assert (
        "warning: the classes 'Bound', 'bound' differ only in capitals or white space"
        in said.out
    )


def test_train_warns_about_a_class_that_occurs_only_in_validation(
    call, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    Path("a.fa").write_text("".join(f">{name}\nACGT\n" for name in "abcde"))
    Path("t.tsv").write_text("id\tlabel\na\tx\nb\ty\nc\ty\nd\tx\ne\tz\n")
    words = "train a.fa --labels t.tsv --alphabet dna --epochs 1 --folds 3 --out r"
    said = call(*words.split()).out
    assert "the validation set has the class 'z', but the training set has no" in said


def test_the_option_keep_sets_the_number_of_checkpoints(call, tmp_path):
    words = ["train", TRAIN, "--labels", LABELS, "--valid-share", 0.1]
    words += ["--epochs", 1, "--out", tmp_path / "run"]
    said = call(*words, "--checkpoint-every", 8, "--keep", 2)
    assert said.code == 0
    names = sorted(path.name for path in (tmp_path / "run/checkpoint").iterdir())
    assert [names[0], len(names)] == ["last.safetensors", 3]
    said = call(*words, "--resume", "--checkpoint-every", "often")
    assert (said.code, "a time" in said.err) == (2, True)


def test_train_accepts_optimizer_schedule_and_compile(call, tmp_path):
    options = ["--optimizer", "lion", "--schedule", "plateau", "--lr", 1e-4, "--no-compile"]
    said = call(
        "train", TRAIN, *DATA_OPTIONS, "--out", tmp_path / "run", "--epochs", 1, *options
    )
    assert said.code == 0
    report = (tmp_path / "run/report.html").read_text()
    assert "Lion(betas=[0.9, 0.99]" in report
    assert "Plateau(lr=0.0001" in report
    rows = (tmp_path / "run/metrics.jsonl").read_text().splitlines()
    assert json.loads(rows[0])["lr"] == 1e-4
