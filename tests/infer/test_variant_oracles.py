"""Effects of variants equal those of other packages on the same networks.

The tests need files and packages that are not part of this project. CONTRIBUTING.md
names them.
"""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

import seqloom as sl
from splice_example import example

WIDTH = 101
ROUNDING = 0.01  # The command writes scores with two decimals.
SPLICEAI_WIDTH = 10_101


def other_python(package):
    """Return the interpreter of a package in $SEQLOOM_ORACLES, or skip the test."""
    folder = os.environ.get("SEQLOOM_ORACLES")
    path = Path(folder or "", f"env-{package}", "bin", "python")
    if folder is None or not path.exists():
        pytest.skip(f"$SEQLOOM_ORACLES has no environment env-{package}")
    return path


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    """Write a genome, and variants in the form that `bcftools norm` writes."""
    home = tmp_path_factory.mktemp("variants")
    random = np.random.default_rng(7)
    letters = "".join(random.choice(list("ACGT"), 6000))
    lines = "\n".join(letters[at : at + 60] for at in range(0, len(letters), 60))
    (home / "genome.fa").write_text(f">chr1\n{lines}\n")
    rows = list(_draw_variants(letters, random))
    return home, rows


def _draw_variants(letters, random):
    """Yield substitutions, insertions and deletions that need no normalising."""
    for number, start in enumerate(range(100, 5800, 40)):
        anchor, kind = letters[start], number % 3
        added = "".join(random.choice(list("ACGT"), random.integers(1, 20)))
        removed = letters[start + 1 : start + 1 + len(added)]
        if kind == 0 and added[0] != anchor:
            yield "chr1", start + 1, anchor, added[0]
        if kind == 1 and added[-1] != anchor:
            yield "chr1", start + 1, anchor, anchor + added
        if kind == 2 and removed[-1] != anchor:
            yield "chr1", start + 1, anchor + removed, anchor


@pytest.fixture(scope="module")
def network(job):
    """Write a PyTorch network with two outputs, and return it as a model."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    torch.manual_seed(3)
    module = torch.nn.Sequential(
        torch.nn.Conv1d(4, 8, 11),
        torch.nn.ReLU(),
        torch.nn.MaxPool1d(4),
        torch.nn.Conv1d(8, 8, 5),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(8 * 18, 2),
    ).eval()
    torch.save(module, job[0] / "network.pt")
    task = sl.models.Regress(("one", "two"), mean=(0.0, 0.0), deviation=(1.0, 1.0))
    wrapped = sl.models.TorchModule(module).bind("torch", 0).eval()
    return sl.models.Trained(wrapped, sl.encode.OneHot("dna"), task, batch_size=16)


def effects_of(package, job, rows):
    """Return the scores of another package."""
    home, _ = job
    table, out = home / f"{package}.tsv", home / f"{package}.npy"
    table.write_text("".join("\t".join(map(str, row)) + "\n" for row in rows))
    program = Path(__file__).parents[1] / "variant_packages.py"
    files = home / "network.pt", home / "genome.fa", table
    command = [other_python(package), program, package, *files, str(WIDTH), out]
    done = subprocess.run(command, capture_output=True, text=True, cwd=home, check=False)
    assert done.returncode == 0, done.stderr
    return np.load(out)


def own_effects(network, job, rows):
    """Return the scores of `variant_effects`, one row for each variant."""
    home, _ = job
    path = home / "own.vcf"
    length = len("".join((home / "genome.fa").read_text().splitlines()[1:]))
    head = f"##fileformat=VCFv4.2\n##contig=<ID=chr1,length={length}>\n"
    head += "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
    lines = (f"{c}\t{p}\t.\t{ref}\t{alt}\t.\t.\t.\n" for c, p, ref, alt in rows)
    path.write_text(head + "".join(lines))
    found = sl.infer.variant_effects(
        network, path, home / "genome.fa", width=WIDTH, indels="left"
    )
    assert set(found.status) == {"ok"}
    return np.stack([found["difference_one"], found["difference_two"]], axis=1)


def is_substitution(row):
    return len(row[2]) == len(row[3])


@pytest.fixture(scope="module")
def tangermeme_effects(network, job):
    """Return the scores of all variants."""
    return effects_of("tangermeme", job, job[1])


def test_scores_of_substitutions_equal_those_of_grelu(network, job):
    rows = [row for row in job[1] if is_substitution(row)]
    theirs = effects_of("grelu", job, rows)
    np.testing.assert_allclose(own_effects(network, job, rows), theirs, rtol=0, atol=1e-5)


@pytest.mark.parametrize("kind", ["substitutions", "indels"])
def test_scores_equal_the_edits_of_tangermeme(kind, network, job, tangermeme_effects):
    chosen = [is_substitution(row) == (kind == "substitutions") for row in job[1]]
    own, theirs = own_effects(network, job, job[1]), tangermeme_effects
    np.testing.assert_allclose(own[chosen], theirs[chosen], rtol=0, atol=1e-5)


@pytest.fixture(scope="module")
def splice_scores():
    """Return the folder of the scores that the command of SpliceAI wrote."""
    folder = Path(os.environ.get("SEQLOOM_DATA", "none"), "spliceai")
    if not (folder / "scores.vcf").exists():
        pytest.skip("$SEQLOOM_DATA has no folder spliceai with the scores of the command")
    pytest.importorskip("h5py", reason="h5py is not installed")
    return folder


def command_scores(path):
    """Return scores and positions by (id, ALT, gene); None for alleles without scores."""
    scores = {}
    for line in path.read_text().splitlines():
        if line.startswith("#"):
            continue
        columns = line.split("\t")
        entries = dict(it.partition("=")[::2] for it in columns[7].split(";"))
        for entry in (
            entries.get("SpliceAI", "").split(",") if "SpliceAI" in entries else []
        ):
            alt, gene, *values = entry.split("|")
            numbers = None if values[0] == "." else np.array(values, float)
            scores[columns[2], alt, gene] = numbers
    return scores


def read_genes(path):
    """Return the genes with the column names of intervals."""
    rows = [line.split("\t") for line in path.read_text().splitlines()]
    columns = dict(zip(rows[0], zip(*rows[1:], strict=True), strict=True))
    return {
        "chrom": list(columns["CHROM"]),
        "start": list(map(int, columns["TX_START"])),
        "stop": list(map(int, columns["TX_END"])),
        "name": list(columns["#NAME"]),
        "strand": list(columns["STRAND"]),
    }


@pytest.fixture(scope="module")
def splice_effects(splice_scores):
    paths = [splice_scores / "models" / f"spliceai{number}.h5" for number in range(1, 6)]
    return sl.infer.variant_effects(
        example().load_spliceai(paths),
        splice_scores / "variants.vcf",
        splice_scores / "genome.fa",
        genes=read_genes(splice_scores / "genes.tsv"),
        width=SPLICEAI_WIDTH,
        within=50,
        indels="spliceai",
        on_mismatch="skip",
        edge="drop",
    )


def own_scores(effects):
    """Return scores and positions in the order of the command.

    The command scores alleles as they are written, so alleles with another normal form
    are left out.
    """
    names = [f"{kind}_{{}}output_{site}" for site in (1, 2) for kind in ("gain", "loss")]
    columns = [name.format(part) for part in ("", "position_") for name in names]
    table = effects.to_dict()
    values = np.stack([table[name] for name in columns], axis=1)
    keys = zip(table["id"], table["alt"], table["gene"], strict=True)
    fixed = (table[name] for name in ("chrom", "pos", "ref", "alt", "allele", "status"))
    return {
        key: row
        for key, row, (*spelled, allele, status) in zip(
            keys, values, zip(*fixed, strict=True), strict=True
        )
        if status == "ok" and ":".join(map(str, spelled)) == allele
    }


@pytest.mark.soak
def test_scores_equal_those_of_the_published_command(splice_scores, splice_effects):
    theirs = command_scores(splice_scores / "scores.vcf")
    own = own_scores(splice_effects)
    assert len(own) > 0.9 * len(theirs)
    for key, scores in own.items():
        expected = theirs[key]
        np.testing.assert_allclose(
            scores[:4], expected[:4], rtol=0, atol=ROUNDING, err_msg=str(key)
        )
        # Positions of effects that are 0 after rounding are arbitrary.
        clear = expected[:4] > ROUNDING
        assert (scores[4:][clear] == expected[4:][clear]).all(), key


@pytest.mark.soak
def test_alleles_without_scores_are_those_of_the_published_command(
    splice_scores, splice_effects
):
    theirs = command_scores(splice_scores / "scores.vcf")
    scored = {key for key, values in theirs.items() if values is not None}
    table = splice_effects.to_dict()
    keys = zip(table["id"], table["alt"], table["gene"], strict=True)
    own = {key for key, it in zip(keys, table["status"], strict=True) if it == "ok"}
    assert scored <= own
    # The command refuses alleles of several bases before it removes shared bases. The
    # normal form of such an allele may be a substitution.
    assert {theirs.get(key, 0) for key in own - scored} <= {None}
