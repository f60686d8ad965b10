"""Invalid input causes exit code 2 and an error of one or two lines, and loses no file."""

import gzip
import lzma
import re
import subprocess
import sys
from pathlib import Path
from shutil import copytree

import pytest

TWO_RECORDS = ">a\nACGT\n>b\nGGCC\n"
LABEL_TABLE = "id\tlabel\na\tyes\nb\tno\n"
DNA_OPTIONS = "--labels two.tsv --alphabet dna --valid-share 0"
TRAINING_OPTIONS = f"{DNA_OPTIONS} --out new"
TRAIN_COMMAND_UP_TO_LABELS = "train two.fa --alphabet dna --out new --labels"
# A gzip member as bgzip writes it, without the empty end-of-file member.
BGZF_BLOCK = bytes.fromhex(
    "1f8b08040000000000ff0600424302002b00b34be47274760fe1b24be272777776e602001a2c2f6110000000"
)
INPUT_FILES = {
    "two.fa": TWO_RECORDS,
    "two.tsv": LABEL_TABLE,
    "longer.fa": ">a\nACGTA\n>b\nGGCC\n",
    "unknown.fa": ">x\nACGT\n",
    "other.fa": ">a\nACGT\n>b\nGGCA\n",
    "twice.fa": TWO_RECORDS + ">a\nTTTT\n",
    "letter.fa": ">a\nACGT\n>b\nGGEC\n",
    "one.fa": ">a\nACGTACGTACGTACGT\n>b\nGGCCGGCCGGJCGGCC\n",
    "blank.fa": ">a\nACGT\n>b\n\n",
    "sam.fa": "@HD\tVN:1.6\n",
    "cut.fq": "@a\nACGT\n+\nII",
    "empty.fa": "",
    "text.fa": "Dear reader,\n",
    "xz.fa": lzma.compress(TWO_RECORDS.encode())[:-9],
    "png.fa": b"\x89PNG\r\n\x1a\n" + bytes(40),
    "cut.fa.gz": gzip.compress(TWO_RECORDS.encode() * 99)[:-9],
    "endless.fa.gz": BGZF_BLOCK,
    "less.tsv": "id\tlabel\na\tyes\n",
    "values.tsv": LABEL_TABLE + "a\tno\n",
    "same.tsv": "id\tlabel\na\tyes\nb\tyes\n",
    "fractions.tsv": "id\tlabel\na\t0.5\nb\t0.7\n",
    "names.tsv": "name\tlabel\na\tyes\n",
    "short.tsv": "id\tlabel\na\n",
    "file": "mine",
    "mine/notes.txt": "mine",
    "foreign/config.json": '{"version": 1, "model": "theirs"}',
    "theirs/checkpoint/last.safetensors": "theirs",
    "theirs/train.tsv": "theirs",
}
# For each problem: a command line, and a pattern that the error message must match.
INVALID_COMMANDS = {
    "a missing file": ("inspect none.fa", "none.fa: no such file"),
    "a folder": ("inspect mine", "mine: is a folder"),
    "an empty file": ("inspect empty.fa", "empty.fa: the file is empty"),
    "a cut xz": ("inspect xz.fa", "xz.fa: the xz data is truncated"),
    "a picture": ("inspect png.fa", "png.fa: expected FASTA or FASTQ, found a PNG"),
    "text": ("inspect text.fa", 'text.fa: .*text that begins with "Dear reader,"'),
    "another format": ("inspect sam.fa", "sam.fa: expected FASTA or FASTQ, found SAM"),
    "a cut FASTQ": (
        "inspect cut.fq",
        r"cut.fq: record 0 \(a\), line 4, byte 12 of the text: .*ends",
    ),
    "a cut to convert": ("convert cut.fq out.fq.gz", r"cut.fq: record 0 \(a\), line 4"),
    "an unknown name": (
        "convert two.fa out.txt",
        "out.txt: the name does not imply a format",
    ),
    "no qualities": ("convert two.fa out.fq", "FASTQ needs qualities"),
    "no qualities to judge": (
        "convert two.fa out.fa --min-mean-quality 20",
        "two.fa: --min-mean-quality needs qualities",
    ),
    "an option as a file": ("convert two.fa --min-lenght 3", "Unknown option: --min-l"),
    "intervals on standard input": (
        "train two.fa --out r --intervals -",
        r"error: --intervals reads files, not standard input \(-\): save the input to",
    ),
    "sequences to train on standard input": (
        "train - --out r",
        r"error: train reads files, not standard input \(-\): save the input to",
    ),
    "standard input behind a file": (
        "train two.fa --out r --labels two.tsv -",
        r"error: --labels reads files, not standard input \(-\): save the input to",
    ),
    "a folder to write": (
        "convert two.fa mine --format fasta",
        "mine: is not a regular file",
    ),
    "a cut gzip": (
        "inspect cut.fa.gz",
        r"the gzip data is truncated: .* byte \d+, .*; fetch or copy it again",
    ),
    "no end block": ("inspect endless.fa.gz", "endless.fa.gz: .*truncated.*marks the end"),
    "a missing training file": (
        f"train none.fa {TRAINING_OPTIONS}",
        "none.fa: no such file",
    ),
    "a missing test file": (
        f"train two.fa {TRAINING_OPTIONS} --test none.fa",
        "none.fa: no",
    ),
    "an empty sequence": (
        f"train blank.fa {TRAINING_OPTIONS}",
        r"record 1 \(b\): .*no residues",
    ),
    "an id twice": (
        f"train twice.fa {TRAINING_OPTIONS}",
        "'a' occurs twice: record 0 .*2 of",
    ),
    "a letter": (
        f"train letter.fa {TRAINING_OPTIONS}",
        "letter.fa: .*1 .*line 4, byte 13 of the text: .*ACGT",
    ),
    "the letter itself": (
        f"train letter.fa {TRAINING_OPTIONS}",
        "text: found 'E', expected .*looks like protein, but 'dna' is read",
    ),
    "a letter to predict": (
        "predict run letter.fa --out s.tsv",
        "line 4, byte 13 of the text: .*'E'",
    ),
    "an unclear alphabet": (
        "train two.fa --labels two.tsv --out new",
        "DNA and protein both fit",
    ),
    "another letter among bases": (
        "train one.fa --labels two.tsv --out new",
        r"one.fa: record 1 \(b\), line 4, byte 33 of .* 'J', .*--alphabet protein",
    ),
    "no labels": ("train two.fa --out new", "--labels TABLE"),
    "labels of no table": (
        "train two.fa --out new --labels",
        "train needs a value after --labels",
    ),
    "valid without a file": (
        f"train two.fa {TRAINING_OPTIONS} --valid",
        "a value after --valid",
    ),
    "no label": (f"{TRAIN_COMMAND_UP_TO_LABELS} less.tsv", "1 of 2 .*less.tsv: b"),
    "two values": (f"{TRAIN_COMMAND_UP_TO_LABELS} values.tsv", "line 4: id 'a' .*'yes'"),
    "one class": (f"{TRAIN_COMMAND_UP_TO_LABELS} same.tsv", "'yes'; .*two classes"),
    "fractions": (f"{TRAIN_COMMAND_UP_TO_LABELS} fractions.tsv", "--task regress"),
    "no id column": (
        f"{TRAIN_COMMAND_UP_TO_LABELS} names.tsv",
        "no column 'id'.* are 'name', 'label'",
    ),
    "a short line": (f"{TRAIN_COMMAND_UP_TO_LABELS} short.tsv", "line 2: expected 2"),
    "a table that is none": (f"{TRAIN_COMMAND_UP_TO_LABELS} xz.fa", "expected a table"),
    "no folder to make": (
        f"train two.fa {DNA_OPTIONS} --out file/new",
        "file/new: cannot create",
    ),
    "a test file without labels": (
        f"{TRAIN_COMMAND_UP_TO_LABELS} two.tsv --test unknown.fa",
        r": x; .*\n--test files need labels, .*\(--labels two.tsv MORE.tsv\)",
    ),
    "a validation file without labels": (
        "train two.fa --alphabet dna --label-from-header (a|b) --out r --valid unknown.fa",
        "--valid files need labels, which come from the same source as for FILES",
    ),
    "files of a demo over a file": ("demo --files file", "file: is a file; --files needs"),
    "a file for a folder": (
        f"train two.fa {DNA_OPTIONS} --out file",
        "file is a file; out .--out. needs",
    ),
    "other files": (
        f"train two.fa {DNA_OPTIONS} --out mine",
        "mine: .*choose an empty folder",
    ),
    "others replaced": (
        f"train two.fa {DNA_OPTIONS} --out mine --overwrite",
        "choose an empty",
    ),
    "an existing run": (
        f"train two.fa {DNA_OPTIONS} --out run",
        "run: already contains a run.*--overwrite",
    ),
    "other data": (
        f"train other.fa {DNA_OPTIONS} --epochs 1 --out run --resume",
        "other training data",
    ),
    "fewer epochs": (
        f"train two.fa {DNA_OPTIONS} --epochs 1 --out longer --resume",
        "epochs 2, not 1",
    ),
    "both": (
        f"train two.fa {DNA_OPTIONS} --out run --resume --overwrite",
        "exclude each other",
    ),
    "no epochs": (f"train two.fa {TRAINING_OPTIONS} --epochs 0", "--epochs.*>= 1"),
    "no rate": (
        f"train two.fa {TRAINING_OPTIONS} --lr nan",
        "--lr.* must be a number above 0",
    ),
    "no batch": (f"train two.fa {TRAINING_OPTIONS} --batch-size 0", "--batch-size.*>= 1"),
    "half an epoch": (
        f"train two.fa {TRAINING_OPTIONS} --epochs 1.5",
        "--epochs.*integer.*1.5",
    ),
    "half a seed": (f"train two.fa {TRAINING_OPTIONS} --seed 1.7", "--seed.*integer"),
    "half a fold": (f"train two.fa {TRAINING_OPTIONS} --folds 2.5", "--folds.*integer"),
    "half a record": (
        f"train two.fa {TRAINING_OPTIONS} --batch-size 63.5",
        "--batch-size.*integer",
    ),
    "a negative seed": (f"train two.fa {TRAINING_OPTIONS} --seed -1", "--seed.*>= 0"),
    "a negative thread": (
        f"train two.fa {TRAINING_OPTIONS} --threads -1",
        "--threads.*>= 1",
    ),
    "many threads": (f"train two.fa {TRAINING_OPTIONS} --threads 257", "--threads.*<= 256"),
    "no backend": (
        f"train two.fa {TRAINING_OPTIONS} --backend abacus",
        "called 'abacus'; .*numpy",
    ),
    "no option": (f"train two.fa {TRAINING_OPTIONS} --epohcs 2", "--epohcs.*--epochs"),
    "no files": ("train --labels two.tsv two.fa --out new", "Give files first"),
    "a stop by nothing": (
        f"train two.fa {TRAINING_OPTIONS} --early-stop 2",
        "--early-stop.*--valid",
    ),
    "no share": (
        "train two.fa --labels two.tsv --out new --valid-share 1",
        "--valid-share must be",
    ),
    "two parts": (
        f"train two.fa {TRAINING_OPTIONS} --valid two.fa",
        "--valid and --valid-share",
    ),
    "folds to judge": (
        "train two.fa --labels two.tsv --out new --folds 2 --test two.fa",
        "without --folds",
    ),
    "no run": ("predict new two.fa --out s.tsv", "new: no such folder; expected"),
    "a file for a run": ("predict two.fa two.fa --out s.tsv", "is a file; expected a run"),
    "another length": ("predict run longer.fa --out s.tsv", "but 'a' has 5; crop all"),
    "no folder": ("predict run two.fa --out none/s.tsv", "the folder none does not exist"),
    "a folder for a table": (
        "predict run two.fa --out mine",
        "mine: is not a regular file",
    ),
    "a table over its input": ("predict run two.fa --out ./two.fa", "also an input file"),
    "standard output": ("predict run two.fa --out /dev/stdout", "--out needs a file name"),
    "a demo over others": ("demo --out mine", "mine: .*give --out another folder"),
    "settings of others": (
        f"train two.fa {DNA_OPTIONS} --out foreign --overwrite",
        "contains other files",
    ),
    "a checkpoint of others": (
        f"train two.fa {DNA_OPTIONS} --out theirs --overwrite",
        "other files",
    ),
    "files over others": ("demo --files theirs", "train.tsv: already exists"),
    "other classes": ("evaluate run two.fa --labels fractions.tsv", "'0.5' .*no, yes"),
}


def write(home):
    """Write all files into a folder."""
    for name, content in INPUT_FILES.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(
            content if isinstance(content, bytes) else content.encode()
        )


@pytest.fixture(scope="module")
def template(tmp_path_factory, trainer):
    """A folder with all files and a finished run."""
    home = tmp_path_factory.mktemp("bad")
    write(home)
    trainer(home / "two.fa", home / "two.tsv", home / "run")
    trainer(home / "two.fa", home / "two.tsv", home / "longer", epochs=2)
    return home


@pytest.fixture
def here(template, tmp_path, monkeypatch):
    """A copy of the folder `template` as working directory."""
    monkeypatch.chdir(tmp_path)
    return copytree(template, tmp_path, dirs_exist_ok=True)


def contents(home):
    """Return the contents of all files in a folder."""
    return {path: path.is_file() and path.read_bytes() for path in home.rglob("*")}


@pytest.mark.parametrize(
    ("words", "essential"), INVALID_COMMANDS.values(), ids=INVALID_COMMANDS
)
def test_invalid_input_of_a_command_prints_at_most_two_lines(here, call, words, essential):
    before = contents(here)
    said = call(*words.split())
    assert said.code == 2
    assert said.err.startswith("error: ")
    assert 1 <= len(said.err.splitlines()) <= 2
    assert re.search(essential, said.err)
    assert contents(here) == before


@pytest.mark.sample(7)
@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    "words", [words for words, _ in INVALID_COMMANDS.values()], ids=INVALID_COMMANDS
)
def test_the_option_traceback_works_for_every_invalid_input(call, words):
    plain = call(*words.split()).err
    said = call(*words.split(), "--traceback")
    assert said.code == 2
    assert said.err.startswith("Traceback (most recent call last):\n")
    assert said.err.endswith(plain)


@pytest.mark.usefixtures("here")
def test_a_failed_command_exits_with_code_2_and_prints_its_error_last():
    words = INVALID_COMMANDS["a letter"][0].split()
    command = [sys.executable, "-m", "seqloom", *words]
    done = subprocess.run(
        command, stdout=-1, stderr=subprocess.STDOUT, check=False, text=True
    )
    first, *_, last = done.stdout.splitlines()
    assert done.returncode == 2
    assert first.startswith("seqloom ")
    assert last.startswith("error: letter.fa: record 1 (b), line 4, byte 13 of the text: ")


@pytest.mark.usefixtures("here")
def test_an_unknown_command_line_option_prints_two_lines():
    command = [sys.executable, "-m", "seqloom", "inspect", "two.fa", "--jsno"]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 2)


@pytest.mark.usefixtures("here")
def test_an_output_folder_that_cannot_be_written_is_an_error(call, monkeypatch):
    monkeypatch.setattr(Path, "mkdir", refuse)  # root can write everywhere
    said = call(*f"train two.fa {TRAINING_OPTIONS}".split())
    assert (said.code, said.err) == (
        2,
        "error: new: cannot create the run folder: Permission denied\n",
    )


def refuse(*_, **__):
    raise PermissionError(13, "Permission denied")
