"""Genome intervals on the command line, compared with slices by Biopython."""

import json
import random
import re
from pathlib import Path
from shutil import copytree

import pytest

from seqloom.cli._warn import count_overlaps
from seqloom.data import IntervalDataset

Seq = pytest.importorskip("Bio.Seq").Seq

RNG = random.Random(1)  # noqa: S311 - a test
CHROMOSOMES = {f"chr{i}": "".join(RNG.choices("ACGTacgt", k=900)) for i in range(1, 5)}
# Chromosome, start, stop, name, score, strand.
PEAKS = [
    (
        chrom,
        start,
        start + 50,
        RNG.choice(["open", "shut"]),
        start % 11 / 2,
        "+-."[start % 3],
    )
    for chrom in CHROMOSOMES
    for start in range(0, 850, 35)
]
TRAIN_COMMAND_WITHOUT_LABELS = "train genome.fa --intervals peaks.bed --epochs 1 --out run"
TRAIN_COMMAND = f"{TRAIN_COMMAND_WITHOUT_LABELS} --label-column name"


def bed(rows):
    """Write intervals as BED."""
    return "".join("\t".join(map(str, row)) + "\n" for row in rows)


def write_slices(rows, path="slices.fa", length=None, strands="-"):
    """Write the sequences of intervals that Biopython extracts, with N beyond the ends."""
    text = ""
    for chrom, start, stop, *_, strand in rows:
        first, width = start, stop - start
        if length is not None:
            first, width = (start + stop) // 2 - length // 2, length
        letters = CHROMOSOMES[chrom]
        part = "".join(
            letters[i] if 0 <= i < len(letters) else "N"
            for i in range(first, first + width)
        )
        part = str(Seq(part).reverse_complement()) if strand in strands else part
        text += f">{chrom}:{first}-{first + width}({strand})\n{part}\n"
    Path(path).write_text(text)


def column(path, number):
    """Read a column of a table without its header."""
    lines = Path(path).read_text().splitlines()[1:]
    return [line.split("\t")[number] for line in lines]


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    home = tmp_path_factory.mktemp("intervals")
    genome = "".join(f">{name} x\n{text}\n" for name, text in CHROMOSOMES.items())
    (home / "genome.fa").write_text(genome)
    (home / "peaks.bed").write_text(bed(PEAKS))
    return home


@pytest.fixture
def here(template, tmp_path, monkeypatch):
    """A working directory with a genome and its intervals."""
    copytree(template, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def shell(call):
    """Run a command line, which must succeed by default."""

    def typed(line, code=0):
        said = call(*line.split())
        assert said.code == code, said.err
        return said

    return typed


@pytest.fixture
def run(here, shell):
    """A finished training on the intervals in the working directory."""
    return shell(TRAIN_COMMAND)


def test_training_on_intervals_equals_training_on_biopython_slices(run, shell):
    write_slices(PEAKS)
    rows = "".join(f"{c}:{a}-{b}({s})\t{name}\n" for c, a, b, name, _, s in PEAKS)
    Path("slices.tsv").write_text("id\tlabel\n" + rows)
    labels = "slices.fa --labels slices.tsv"
    shell(f"train {labels} --alphabet dna --epochs 1 --out other")
    for name in ("scores-valid.tsv", "model.safetensors"):
        assert Path("run", name).read_bytes() == Path("other", name).read_bytes()
    column = "genome.fa --intervals peaks.bed --label-column name"
    found = [shell(f"evaluate run {words} --json").out for words in (labels, column)]
    assert found[0] == found[1]
    assert json.loads(found[0])["metrics"]["n"] == len(PEAKS)


@pytest.mark.parametrize(
    ("words", "strands"), [("--length 50", "-"), ("--length 50 --ignore-strand", "")]
)
def test_scores_of_intervals_equal_those_of_their_sequences(run, shell, words, strands):
    rows = [("chr2", 870, 890, "x", 0, "-"), ("chr1", 3, 13, "y", 0, "+"), *PEAKS[::-1]]
    Path("new.bed").write_text(bed(rows))
    write_slices(rows, length=50, strands=strands)
    shell(f"predict run genome.fa --intervals new.bed --edge pad {words} --out a.tsv")
    shell("predict run slices.fa --out b.tsv")
    lines = [line.split("\t") for line in Path("a.tsv").read_text().splitlines()]
    assert [line.pop(1) for line in lines] == ["interval_name", *(row[3] for row in rows)]
    expected = [line.split("\t") for line in Path("b.tsv").read_text().splitlines()]
    assert lines == expected


@pytest.mark.parametrize("tail", ["", "\t.\t0\t+"])
def test_scores_of_unnamed_intervals_have_no_name_column(run, shell, tail):
    Path("new.bed").write_text(f"chr1\t10\t60{tail}\nchr1\t60\t110{tail}\n")
    shell("predict run genome.fa --intervals new.bed --out a.tsv")
    assert column("a.tsv", 0)[0].startswith("chr1:10-60(")
    assert "interval_name" not in Path("a.tsv").read_text()


@pytest.mark.usefixtures("here")
def test_validation_and_test_sets_can_be_whole_chromosomes(shell):
    words = "--valid-chromosomes chr3 --test-chromosomes chr4 chr1 --jitter 3 --edge pad"
    said = shell(f"{TRAIN_COMMAND} {words} --reverse-complement")
    ids = [f"{c}:{a}-{b}({s})" for c, a, b, _, _, s in PEAKS]
    assert column("run/scores-valid.tsv", 0) == [it for it in ids if it[:4] == "chr3"]
    tested = [it for it in ids if it[:4] in {"chr1", "chr4"}]
    assert column("run/scores-test.tsv", 0) == tested
    assert "overlap" not in said.out


@pytest.mark.usefixtures("here")
def test_separate_interval_files_can_be_validation_and_test_sets(shell):
    Path("valid.bed").write_text(bed(PEAKS[:9]))
    Path("test.bed").write_text(bed(PEAKS[9:20]))
    words = "--valid valid.bed --test test.bed --jitter 3 --edge pad"
    said = shell(f"{TRAIN_COMMAND} {words}")
    assert column("run/scores-test.tsv", 0)[0] == "chr1:315-365(+)"
    assert "warning: 9 of 9 validation intervals overlap training intervals" in said.out
    assert "11 of 11 test intervals" in said.out
    # Validation and test intervals are not shifted.
    shell("predict run genome.fa --intervals test.bed --out s.tsv")
    lines = [line.split("\t") for line in Path("s.tsv").read_text().splitlines()]
    assert [line.pop(1) for line in lines[1:]] == [row[3] for row in PEAKS[9:20]]
    tested = Path("run/scores-test.tsv").read_text().splitlines()
    assert lines[1:] == [line.split("\t") for line in tested[1:]]


@pytest.mark.usefixtures("here")
def test_train_counts_overlapping_intervals_of_its_sets_correctly():
    for _ in range(40):
        taught, asked = (
            [(start, start + RNG.randint(1, 9)) for start in RNG.sample(range(60), n)]
            for n in (RNG.randint(1, 6), RNG.randint(1, 6))
        )
        shared = [any(a < d and c < b for c, d in taught) for a, b in asked]
        assert count_overlaps(dataset(taught), dataset(asked)) == sum(shared)


@pytest.mark.usefixtures("here")
def test_train_counts_intervals_that_overlap_after_jitter():
    asked = dataset([(125, 150), (10, 15)])
    taught = [(100, 120), (40, 60)]
    counts = [count_overlaps(dataset(taught, jitter=n), asked) for n in (5, 6, 25, 26)]
    assert counts == [0, 1, 1, 2]


def dataset(spans, **options):
    """Open intervals of the first chromosome."""
    starts, stops = zip(*spans, strict=True)
    table = {"chrom": ["chr1"] * len(spans), "start": starts, "stop": stops}
    return IntervalDataset("genome.fa", table, **options)


@pytest.mark.usefixtures("here")
def test_interval_labels_are_joined_by_name_or_coordinates(shell):
    rows = [(c, a, b, f"p{i}", 0, s) for i, (c, a, b, *_, s) in enumerate(PEAKS)]
    Path("peaks.bed").write_text(bed(rows))
    labels = {f"p{i}": "ab"[i % 2] for i in range(1, len(rows))}
    labels |= {"chr1:0-50(+)": "b", "q": "a"}
    lines = "".join(f"{name}\t{label}\n" for name, label in labels.items())
    Path("t.tsv").write_text("id\tkind\n" + lines)
    said = shell(f"{TRAIN_COMMAND_WITHOUT_LABELS} --labels t.tsv --label-column kind")
    assert "100 sequences of 50; a 49, b 51" in said.out
    assert "labels without a sequence in these files: 1 (q)" in said.out


@pytest.mark.usefixtures("here")
def test_each_interval_file_can_contain_one_class(shell):
    for name in ("open", "shut"):
        Path(f"{name}.bed").write_text(bed(row for row in PEAKS if row[3] == name))
    words = "--intervals open.bed shut.bed --label-from-file --epochs 1 --out run"
    said = shell(f"train genome.fa {words}")
    share = sum(row[3] == "open" for row in PEAKS)
    assert f"open {share}, shut {len(PEAKS) - share}" in said.out


@pytest.mark.usefixtures("here")
def test_a_column_of_the_intervals_can_be_a_regression_label(shell):
    said = shell(
        f"{TRAIN_COMMAND_WITHOUT_LABELS} --label-column score --task regress --quiet --json"
    )
    assert json.loads(said.out)["classes"] == ["score"]
    said = shell("evaluate run genome.fa --intervals peaks.bed --json")
    assert json.loads(said.out)["metrics"]["n"] == len(PEAKS)
    shell("predict run genome.fa --intervals peaks.bed --out s.tsv")
    assert Path("s.tsv").read_text().startswith("id\tinterval_name\tscore\n")


def test_resuming_a_run_with_other_intervals_is_an_error(run, shell):
    before = Path("run/model.safetensors").read_bytes()
    shell(f"{TRAIN_COMMAND} --resume")
    assert Path("run/model.safetensors").read_bytes() == before
    Path("peaks.bed").write_text(bed([*PEAKS[1:], PEAKS[0]]))
    assert (
        "started with other training data" in shell(f"{TRAIN_COMMAND} --resume", code=2).err
    )


def test_intervals_dropped_at_chromosome_ends_are_counted_and_not_scored(run, shell):
    Path("new.bed").write_text(bed([*PEAKS, ("chr1", 880, 930, "x", 0, "+")]))
    said = shell("predict run genome.fa --intervals new.bed --edge drop --out s.tsv")
    told = (
        "intervals skipped because they extend beyond their chromosome: 1 (chr1:880-930(+))"
    )
    assert told in said.out
    assert len(column("s.tsv", 0)) == len(PEAKS)
    assert "of 5,000 residues: soft-masked" in said.out


TRAIN_COMMAND_UP_TO_INTERVALS = "train genome.fa --intervals"
OPTIONS_WITH_CHROMOSOME_IN_TWO_SETS = "--valid-chromosomes chr1 --test-chromosomes chr1"
TRAIN_PEAKS_COMMAND = f"{TRAIN_COMMAND_UP_TO_INTERVALS} peaks.bed"
LABEL_OPTIONS = "--label-column name --out new"
BED_FILES = {
    "own.bed": "chrom\tstart\tend\tfile\nchr1\t0\t50\tx\n",
    "three.bed": "chr1\t0\t50\n",
    "past.bed": bed([*PEAKS, ("chr2", 890, 940, "open", 0, "+")]),
    "foreign.bed": bed([*PEAKS, ("8", 0, 50, "open", 0, "+")]),
    "twice.bed": bed([PEAKS[1], (*PEAKS[1][:3], "other", *PEAKS[1][4:])]),
    "genotypes.bed": "l\x1b\x01\x02\x03",
    "gaps.bed": bed([*PEAKS, ("chr2", 0, 50, ".", 0, "+")]),
    "blank.fa": ">chr1\n" + "ACGT " * 20 + "ACGT\n",
}
INVALID_COMMANDS = {
    "no labels": (
        f"{TRAIN_COMMAND_UP_TO_INTERVALS} peaks.bed --out new",
        "it has 'name', 'score': give .*--label-col",
    ),
    "no column": (
        f"{TRAIN_COMMAND_UP_TO_INTERVALS} three.bed --out new",
        "'label' for the labels: give --labels TABLE",
    ),
    "another column": (
        f"{TRAIN_COMMAND_UP_TO_INTERVALS} peaks.bed --label-column x --out new",
        "no column 'x'",
    ),
    "no intervals": (
        f"{TRAIN_COMMAND_UP_TO_INTERVALS} --label-column name --out new",
        "a value after --intervals",
    ),
    "a missing file": (
        f"{TRAIN_COMMAND_UP_TO_INTERVALS} none.bed {LABEL_OPTIONS}",
        "none.bed: no such file",
    ),
    "no genome": (
        f"train none.fa --intervals peaks.bed {LABEL_OPTIONS}",
        "none.fa: no such",
    ),
    "beyond the end": (
        f"{TRAIN_COMMAND_UP_TO_INTERVALS} past.bed {LABEL_OPTIONS}",
        "line 101: .*--edge pad.*--edge drop",
    ),
    "no chromosome": (
        f"{TRAIN_COMMAND_UP_TO_INTERVALS} foreign.bed {LABEL_OPTIONS}",
        "line 101: genome.fa has no .*'8'",
    ),
    "two classes": (
        f"{TRAIN_COMMAND_UP_TO_INTERVALS} twice.bed {LABEL_OPTIONS}",
        "with two different classes: 1, such as chr1:35-85.* as '.* and as '",
    ),
    "genotypes": (
        f"{TRAIN_COMMAND_UP_TO_INTERVALS} genotypes.bed {LABEL_OPTIONS}",
        "expected intervals as text .BED., found PLINK .bed genotypes",
    ),
    "a column of files": (
        f"{TRAIN_COMMAND_UP_TO_INTERVALS} own.bed --label-from-file --out new",
        "column 'file'",
    ),
    "a gap": (
        f"{TRAIN_COMMAND_UP_TO_INTERVALS} gaps.bed {LABEL_OPTIONS}",
        "line 101: 1 of 101 .*--unlabelled skip",
    ),
    "intervals as files": (
        f"train genome.fa peaks.bed {LABEL_OPTIONS}",
        "--intervals peaks.bed",
    ),
    "intervals alone": ("predict run peaks.bed --out s.tsv", "--intervals peaks.bed"),
    "intervals to inspect": ("inspect peaks.bed", "found BED intervals"),
    "the wrong way round": (
        f"train peaks.bed --intervals genome.fa {LABEL_OPTIONS}",
        "GENOME.fa --intervals peaks.bed",
    ),
    "two genomes": (
        f"train genome.fa genome.fa --intervals peaks.bed {LABEL_OPTIONS}",
        "join them",
    ),
    "blanks": (
        f"train blank.fa --intervals peaks.bed --alphabet dna {LABEL_OPTIONS}",
        "convert --wh",
    ),
    "blanks left out": (
        f"{TRAIN_PEAKS_COMMAND} {LABEL_OPTIONS} --whitespace strip",
        "seqloom convert",
    ),
    "headers": (
        f"{TRAIN_COMMAND_UP_TO_INTERVALS} peaks.bed --label-from-header x --out new",
        "--label-column",
    ),
    "ids of nothing": (
        f"{TRAIN_PEAKS_COMMAND} {LABEL_OPTIONS} --id-column x",
        "of --labels TABLE",
    ),
    "a length of nothing": (
        f"train genome.fa --length 9 {LABEL_OPTIONS}",
        "only with --intervals",
    ),
    "chromosomes of nothing": (
        f"train genome.fa --labels t.tsv {LABEL_OPTIONS} --valid-chromosomes chr1",
        "only with --intervals",
    ),
    "no such chromosome": (
        f"{TRAIN_PEAKS_COMMAND} {LABEL_OPTIONS} --valid-chromosomes chr9",
        "chr9: no interval has this chromosome; chromosomes: chr1, chr2, chr3, ...",
    ),
    "all chromosomes": (
        f"{TRAIN_PEAKS_COMMAND} {LABEL_OPTIONS} --test-chromosomes chr1 chr2 chr3 chr4",
        "none are left for training",
    ),
    "one for two": (
        f"{TRAIN_PEAKS_COMMAND} {LABEL_OPTIONS} {OPTIONS_WITH_CHROMOSOME_IN_TWO_SETS}",
        "both contain chr1",
    ),
    "two ways": (
        f"{TRAIN_PEAKS_COMMAND} {LABEL_OPTIONS} --valid-share 0 --valid-chromosomes chr1",
        "excl",
    ),
    "two tests": (
        f"{TRAIN_PEAKS_COMMAND} {LABEL_OPTIONS} --test peaks.bed --test-chromosomes chr1",
        "exclude each other",
    ),
    "folds to judge": (
        f"{TRAIN_PEAKS_COMMAND} {LABEL_OPTIONS} --folds 2 --test-chromosomes chr1",
        "without --folds",
    ),
    "a table over intervals": (
        "predict run genome.fa --intervals peaks.bed --out peaks.bed",
        "is also an input file",
    ),
}


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("words", "essential"), INVALID_COMMANDS.values(), ids=INVALID_COMMANDS
)
def test_invalid_interval_options_print_one_line(shell, words, essential):
    for name, text in BED_FILES.items():
        Path(name).write_text(text)
    said = shell(words, code=2)
    assert re.search(essential, said.err.splitlines()[0]), said.err
    assert not {"new", "s.tsv"} & {path.name for path in Path().iterdir()}


def test_the_error_for_another_interval_length_names_the_option_length(here, shell):
    shell(f"{TRAIN_COMMAND} --network standard")  # a network of one length
    Path("short.bed").write_text("chr1\t0\t40\n")
    words = "predict run genome.fa --intervals short.bed --out s.tsv"
    assert "--length 50" in shell(words, code=2).err
    shell(f"{words} --length 50 --edge pad")
