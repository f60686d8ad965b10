"""Sources of labels on the command line, and rejected labels."""

import gzip
import re
from pathlib import Path

import pytest

FASTA_TEXT = "".join(f">s{i}\n{'ACGT'[i % 4] * 6}\n" for i in range(12))
TRAIN_COMMAND = (
    "train a.fa --labels a.tsv --alphabet dna --epochs 1 --valid-share 0 --out run"
)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Write twelve labelled sequences into the working directory."""
    monkeypatch.chdir(tmp_path)
    Path("a.fa").write_text(FASTA_TEXT)

    def write(labels):
        rows = "".join(f"s{i}\t{label}\n" for i, label in enumerate(labels))
        Path("a.tsv").write_text(f"id\tlabel\n{rows}")

    return write


@pytest.mark.parametrize("mark", ["nan", "NA", ".", ""])
def test_train_reports_or_skips_sequences_without_a_label(call, here, mark):
    here([mark, *["neg", "pos"] * 5, "neg"])
    said = call(*TRAIN_COMMAND.split())
    assert said.code == 2
    assert "1 of 12 sequences have no label in a.tsv: s0" in said.err
    said = call(*TRAIN_COMMAND.split(), "--unlabelled", "skip")
    assert said.code == 0
    assert "neg 6, pos 5" in said.out
    assert "sequences skipped because they have no label: 1 (s0)" in said.out


def test_the_option_missing_sets_the_codes_of_missing_labels(call, here):
    here(["-9", *["NA", "EU"] * 5, "NA"])
    words = ["--unlabelled", "skip", "--missing", "-9"]
    assert "EU 5, NA 6" in call(*TRAIN_COMMAND.split(), *words).out


def test_numbers_with_a_decimal_comma_are_not_classes(call, here):
    here([f"1,{i}5" for i in range(12)])
    said = call(*TRAIN_COMMAND.split())
    assert said.code == 2
    assert "write a point: 1.05, and pass" in said.err
    assert not Path("run/model.safetensors").exists()


def test_labels_with_one_class_for_each_record_are_an_error(call, here):
    here(range(12))
    said = call(*TRAIN_COMMAND.split())
    assert said.code == 2
    assert "12 different labels for 12 records" in said.err
    assert call(*TRAIN_COMMAND.split(), "--task", "regress").code == 0


def test_train_prints_the_task_that_it_infers_from_the_labels(call, here):
    here(["x", "y"] * 6)
    assert "task classify, inferred from the labels" in call(*TRAIN_COMMAND.split()).out
    said = call(*TRAIN_COMMAND.split(), "--overwrite", "--task", "classify")
    assert "guessed" not in said.out


def test_each_sequence_file_can_contain_one_class(call, here, tmp_path):
    for name, letter in (("pos", "A"), ("neg", "C")):
        rows = "".join(f">s{i}\n{letter * 6}\n" for i in range(6))
        Path(f"{name}.fa").write_text(rows)
    words = ["--label-from-file", "--alphabet", "dna", "--epochs", "2", "--out", "run"]
    said = call("train", "pos.fa", "neg.fa", *words)
    assert said.code == 0, said.err
    assert "neg 6, pos 6" in said.out
    said = call("evaluate", "run", "neg.fa", "pos.fa", "--label-from-file")
    assert said.code == 0, said.err
    assert call("predict", "run", "pos.fa", "neg.fa", "--out", "s.tsv").code == 0
    assert len(Path("s.tsv").read_text().splitlines()) == 13


def test_training_with_two_sources_of_labels_is_an_error(call, here):
    here(["x", "y"] * 6)
    said = call(*TRAIN_COMMAND.split(), "--label-from-file")
    assert said.code == 2
    assert "--labels and --label-from-file exclude each other" in said.err


MUTATION_SCAN_TABLE = "mutant,mutated_sequence,score\n" + "".join(
    f"m{i},{'ACGT'[i % 4] * 6},{i % 4}.5\n" for i in range(12)
)


def test_train_accepts_a_table_of_sequences_and_labels(call, here):
    rows = "".join(f"{'AC'[i % 2] * 6},{'xy'[i % 2]}\n" for i in range(12))
    Path("t.csv").write_text(f"sequence,label\n{rows}")
    words = ["--alphabet", "dna", "--epochs", "2", "--out", "run"]
    said = call("train", "t.csv", "--test", "t.csv", *words)
    assert said.code == 0, said.err
    assert "x 6, y 6" in said.out
    said = call("evaluate", "run", "t.csv")
    assert said.code == 0, said.err
    assert call("predict", "run", "t.csv", "--out", "s.tsv").code == 0
    lines = Path("s.tsv").read_text().splitlines()
    assert [line.split("\t")[0] for line in lines[:3]] == ["id", "0", "1"]
    assert lines == Path("run/scores-test.tsv").read_text().splitlines()


def test_columns_of_a_sequence_table_can_be_chosen(call, here):
    Path("t.csv").write_text(MUTATION_SCAN_TABLE)
    columns = ["--sequence-column", "mutated_sequence", "--id-column", "mutant"]
    words = ["--alphabet", "dna", "--epochs", "1", "--task", "regress", "--out", "run"]
    said = call("train", "t.csv", *columns, "--label-column", "score", *words)
    assert said.code == 0, said.err
    assert call("evaluate", "run", "t.csv", *columns).code == 0
    assert call("predict", "run", "t.csv", *columns, "--out", "s.tsv").code == 0
    assert Path("s.tsv").read_text().splitlines()[1].startswith("m0\t")
    said = call("train", "t.csv", *words)
    assert said.code == 2
    assert "--sequence-column" in said.err


def test_parsing_options_apply_to_train_and_predict(call, here):
    here(["x", "y"] * 6)
    Path("a.fa").write_text(FASTA_TEXT.replace("AAAAAA", "aaa AAA"))
    assert "whitespace" in call(*TRAIN_COMMAND.split()).err
    said = call(*TRAIN_COMMAND.split(), "--whitespace", "strip", "--case", "mask")
    assert said.code == 0, said.err
    assert '"mask"' in Path("run/config.json").read_text()
    assert call("predict", "run", "a.fa", "--out", "s.tsv").code != 0
    said = call("predict", "run", "a.fa", "--out", "s.tsv", "--whitespace", "strip")
    assert said.code == 0, said.err


def test_train_reports_ambiguous_and_soft_masked_residues(call, here):
    here(["x", "y"] * 6)
    Path("a.fa").write_text(FASTA_TEXT.replace("AAAAAA", "aaNNRA"))
    told = (
        "of 72 residues: N 6 (8.33 %), other ambiguous 3 (4.17 %), soft-masked 6 (8.33 %)"
    )
    assert told in call(*TRAIN_COMMAND.split()).out
    assert told in Path("run/report.html").read_text()
    assert told in call("predict", "run", "a.fa", "--out", "s.tsv").out
    assert told in call("evaluate", "run", "a.fa", "--labels", "a.tsv").out


@pytest.fixture
def table(tmp_path):
    """A table of sequences and labels without a column of ids."""
    rows = [
        f"{'ACGT' * 3}{letter},{label}"
        for letter, label in zip("ACGT" * 3, "yyn" * 4, strict=True)
    ]
    (tmp_path / "t.csv").write_text("\n".join(["sequence,label", *rows]) + "\n")
    return tmp_path / "t.csv"


def test_records_of_a_table_without_ids_are_numbered_with_a_note(call, table, tmp_path):
    words = ["--alphabet", "dna", "--epochs", 1, "--out", tmp_path / "run"]
    said = call("train", table, *words)
    assert said.code == 0, said.err
    line = "of tables without a column id, numbered from 0 (--id-column"
    assert line in said.out
    assert "12 (" in next(each for each in said.out.splitlines() if line in each)


def test_records_of_a_table_with_ids_cause_no_note_on_numbering(call, table, tmp_path):
    rows = table.read_text().splitlines()
    named = [f"name,{rows[0]}", *(f"r{i},{row}" for i, row in enumerate(rows[1:]))]
    table.write_text("\n".join(named) + "\n")
    words = ["--id-column", "name", "--alphabet", "dna", "--epochs", 1]
    words += ["--out", tmp_path / "run"]
    assert "numbers from 0" not in call("train", table, *words).out


def test_predict_prints_a_count_of_one_in_the_singular(call, trained, tmp_path):
    (tmp_path / "one.fa").write_text(f">a\n{'ACGTAC' * 10}\n")
    said = call("predict", trained, tmp_path / "one.fa", "--out", tmp_path / "s.tsv")
    assert "scored 1 sequence: " in said.out


@pytest.fixture
def headers(tmp_path):
    """Sequences whose class follows the last "|" of the header."""
    rows = [(f"s{i} cls|{'pos' if i % 2 else 'neg'}", "ACGT" * 3) for i in range(4)]
    (tmp_path / "h.fa").write_text("".join(f">{name}\n{text}\n" for name, text in rows))
    return tmp_path / "h.fa"


INVALID_PATTERNS = {
    "|pos": "searched for '|pos': .* header 's0 cls|neg' is '': write \\| for",
    "zzz": "header 's0 cls|neg' is nothing: write \\| for a bar",
    "s1.*": "3 of 4 .* header 's0 cls|neg' is nothing: .*; pass Labels",
    "cls": "have the label 'cls'; .* header 's0 cls|neg' is 'cls': put",
    r"(\d)?$": "header 's0 cls|neg' is '': write",
    "(": "'(' is not a regular expression: missing ), unterminated",
}


@pytest.mark.parametrize("pattern", INVALID_PATTERNS)
def test_the_error_for_a_pattern_without_matches_shows_a_header(call, headers, pattern):
    words = ["--alphabet", "dna", "--label-from-header", pattern, "--epochs", 1]
    said = call("train", headers, *words, "--out", headers.parent / "run")
    assert said.code == 2
    pieces = map(re.escape, INVALID_PATTERNS[pattern].split(".*"))
    assert re.search(".*".join(pieces), said.err), said.err


def test_the_option_label_from_file_needs_several_files(call, headers):
    words = ["--alphabet", "dna", "--label-from-file", "--out", headers.parent / "run"]
    said = call("train", headers, *words)
    assert "its own file (seqloom train a.fa b.fa --label-from-file)" in said.err


def test_training_on_a_truncated_gzip_of_labels_is_an_error(call, table, tmp_path):
    cut = tmp_path / "t.csv.gz"
    cut.write_bytes(gzip.compress(table.read_bytes())[:-12])
    said = call("train", cut, "--epochs", 1, "--out", tmp_path / "run")
    assert said.code == 2
    assert "t.csv.gz: the gzip stream is truncated or corrupt" in said.err
    assert "fetch or copy it again" in said.err


FAMILY_OF_ID = {f"s{i}": f"f{i // 3}" for i in range(12)}
TRAIN_FOLDS_COMMAND = (
    "train a.fa --labels a.tsv --alphabet dna --epochs 1 --folds 2 --out run"
)


def _table_of_families(name, columns, rows=FAMILY_OF_ID):
    lines = (
        f"{key}\t{'xy'[i % 2]}\t{value}" for i, (key, value) in enumerate(rows.items())
    )
    Path(name).write_text("\t".join(columns) + "\n" + "\n".join(lines) + "\n")


def _families_of_folds():
    """Return the families in the validation set of each fold."""
    tables = sorted(Path("run").glob("fold-*/scores-valid.tsv"))
    ids = [
        [row.split("\t")[0] for row in table.read_text().splitlines()[1:]]
        for table in tables
    ]
    return [{FAMILY_OF_ID[name] for name in names} for names in ids]


GROUP_OPTIONS = {
    "labels": ("--labels", "t.tsv", "--group-column", "family"),
    "table": ("--labels", "t.tsv", "--groups", "t.tsv", "--group-column", "family"),
    "usual column": ("--labels", "t.tsv", "--groups", "g.tsv"),
}


@pytest.mark.parametrize("how", GROUP_OPTIONS)
def test_folds_keep_groups_together(call, here, how):
    here("xy" * 6)
    _table_of_families("t.tsv", ["id", "label", "family"])
    _table_of_families("g.tsv", ["id", "other", "group"])
    words = [
        *TRAIN_FOLDS_COMMAND.replace("--labels a.tsv ", "").split(),
        *GROUP_OPTIONS[how],
    ]
    said = call(*words)
    assert said.code == 0, said.err
    first, second = _families_of_folds()
    assert first | second == set(FAMILY_OF_ID.values())
    assert not first & second


def test_a_column_of_the_sequence_table_can_define_groups(call, here):
    here("xy" * 6)
    rows = {
        f"s{i}": f"{'ACGT'[i % 4] * 6}\t{family}"
        for i, family in enumerate(FAMILY_OF_ID.values())
    }
    _table_of_families("t.tsv", ["id", "label", "sequence", "family"], rows)
    words = TRAIN_FOLDS_COMMAND.replace("a.fa --labels a.tsv", "t.tsv").split()
    said = call(*words, "--group-column", "family")
    assert said.code == 0, said.err
    first, second = _families_of_folds()
    assert not first & second


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--group-column family", "no column 'family'"),
        ("--groups short.tsv", "groups has no entry for 11 of 12 ids: 's1'"),
        ("--groups gap.tsv", "groups has no group for 1 of 12 records: 's0'"),
    ],
)
def test_splitting_records_without_a_group_is_an_error(call, here, words, message):
    here("xy" * 6)
    _table_of_families("short.tsv", ["id", "x", "group"], {"s0": "f0"})
    _table_of_families("gap.tsv", ["id", "x", "group"], {**FAMILY_OF_ID, "s0": "NA"})
    said = call(*TRAIN_FOLDS_COMMAND.split(), *words.split())
    assert (said.code, message in said.err) == (2, True), said.err


def test_the_option_group_column_without_a_split_is_an_error(call, here):
    here("xy" * 6)
    said = call(*TRAIN_COMMAND.split(), "--group-column", "file")
    assert said.code == 2
    assert "need a split of FILES, by --valid-share or --folds" in said.err


def test_a_header_pattern_extracts_uniprot_accessions(call, here):
    here("xy" * 6)
    text = re.sub(r">(s\d+)", r">sp|\1|NAME Protein", FASTA_TEXT)
    Path("u.fa").write_text(text)
    words = TRAIN_COMMAND.replace("a.fa", "u.fa").split()
    said = call(*words)
    assert said.code == 2
    remedy = re.search(r"\(--id-from-header '(.+?)'\)", said.err)
    assert remedy is not None
    said = call(*words, "--id-from-header", remedy[1])
    assert said.code == 0, said.err
    for command in (
        "evaluate run u.fa --labels a.tsv",
        "predict run u.fa --out scores.tsv",
    ):
        assert call(*command.split(), "--id-from-header", remedy[1]).code == 0
    ids = [row.split("\t")[0] for row in Path("scores.tsv").read_text().splitlines()[1:]]
    assert ids == [f"s{i}" for i in range(12)]


MULTILABEL_TABLE = "id\tp\tq\tr\n" + "".join(
    f"s{i}\t{i % 2}\t{i % 3 % 2}\t{i // 6}\n" for i in range(12)
)


@pytest.mark.parametrize("command", ["train", "evaluate"])
def test_the_error_for_several_columns_suggests_repeating_the_option(call, here, command):
    here("xy" * 6)
    Path("w.tsv").write_text(MULTILABEL_TABLE)
    words = (
        TRAIN_COMMAND.replace("a.tsv", "w.tsv")
        if command == "train"
        else ("evaluate run a.fa --labels w.tsv")
    )
    said = call(*words.split(), "--label-column", "p", "q", "r")
    assert said.code == 2
    assert "--label-column takes one value: repeat the option" in said.err
    assert "--label-column p --label-column q --label-column r." in said.err


def test_training_on_columns_of_zeros_and_ones_is_multilabel(call, here):
    here("xy" * 6)
    Path("w.tsv").write_text(MULTILABEL_TABLE)
    columns = [word for name in "pqr" for word in ("--label-column", name)]
    said = call(*TRAIN_COMMAND.replace("a.tsv", "w.tsv").split(), *columns)
    assert said.code == 0, said.err
    assert "task multilabel, inferred from the labels" in said.out
