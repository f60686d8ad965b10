"""`seqloom effects` writes the effects of variants on the scores of a model."""

import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import seqloom as sl

RANDOM = np.random.default_rng(3)
GENOME = "".join(RANDOM.choice(list("ACGT"), 400))
COLUMNS = "#CHROM POS ID REF ALT QUAL FILTER INFO\n".replace(" ", "\t")
OTHER_BASE = str.maketrans("ACGT", "CGTA")


def write_vcf(path, positions):
    bases = [GENOME[at - 1] for at in positions]
    rows = [
        f"chr1\t{at}\t.\t{base}\t{base.translate(OTHER_BASE)}\t.\t.\t.\n"
        for at, base in zip(positions, bases, strict=True)
    ]
    path.write_text("##fileformat=VCFv4.3\n" + COLUMNS + "".join(rows))
    return path


@pytest.fixture
def inputs(tmp_path):
    """The arguments of variants and genome."""
    (tmp_path / "g.fa").write_text(f">chr1\n{GENOME}\n")
    return write_vcf(tmp_path / "in.vcf", range(100, 140)), "--genome", tmp_path / "g.fa"


def command_line(*words):
    return [sys.executable, "-m", "seqloom", "effects", *map(str, words)]


def test_the_command_writes_the_table_of_the_function(call, trained, inputs, tmp_path):
    said = call("effects", trained, *inputs, "--out", tmp_path / "out.tsv")
    expected = sl.infer.variant_effects(trained, inputs[0], inputs[2])
    expected.to_tsv(tmp_path / "expected.tsv")
    assert (tmp_path / "out.tsv").read_bytes() == (tmp_path / "expected.tsv").read_bytes()
    assert f"scored 40 alleles: {tmp_path / 'out.tsv'}" in said.out


def test_variants_of_a_pipe_have_the_effects_of_the_file(trained, inputs, tmp_path):
    words = command_line(trained, "-", *inputs[1:], "--out", "-")
    done = subprocess.run(
        words, input=inputs[0].read_bytes(), capture_output=True, check=True
    )
    expected = sl.infer.variant_effects(trained, inputs[0], inputs[2])
    expected.to_tsv(tmp_path / "expected.tsv")
    assert done.stdout == (tmp_path / "expected.tsv").read_bytes()
    assert b"scored 40 alleles: standard output" in done.stderr


def test_alleles_that_are_not_scored_are_counted(call, trained, inputs, tmp_path):
    with inputs[0].open("a") as file:
        file.write("chr1\t200\t.\tN\t<DEL>\t.\t.\t.\n")
        file.write(f"chr2\t200\t.\tA\t{GENOME[199]}\t.\t.\t.\n")
    words = [*inputs, "--out", tmp_path / "out.vcf", "--on-mismatch", "skip"]
    said = call("effects", trained, *words)
    assert "scored 40 alleles, 1 symbolic, 1 contig not in genome" in said.out


def test_an_existing_output_is_an_error_without_overwrite(call, trained, inputs, tmp_path):
    (tmp_path / "out.tsv").write_text("mine\n")
    said = call("effects", trained, *inputs, "--out", tmp_path / "out.tsv")
    assert (said.code, (tmp_path / "out.tsv").read_text()) == (2, "mine\n")
    assert "--overwrite" in said.err


@pytest.mark.parametrize("ending", ["tsv", "vcf.gz"])
def test_a_killed_command_continues_and_writes_the_same_file(
    trained, inputs, tmp_path, ending
):
    """Stops a command after its first scores (6 s)."""
    write_vcf(inputs[0], np.repeat(np.arange(100, 300), 100))
    words = command_line(trained, *inputs, "--out", tmp_path / f"out.{ending}")
    process = subprocess.Popen(words, stdout=-1, stderr=-1)
    started = time.monotonic()
    while process.poll() is None and not list(tmp_path.glob(f".out.{ending}*")):
        assert time.monotonic() - started < 60
        time.sleep(0.01)
    time.sleep(0.3)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 143
    assert not (tmp_path / f"out.{ending}").exists()
    (folder,) = tmp_path.glob("*.unfinished")
    shutil.copytree(folder, tmp_path / "stored")
    subprocess.run(words, check=True, capture_output=True)
    other = command_line(trained, *inputs, "--out", tmp_path / f"whole.{ending}")
    subprocess.run(other, check=True, capture_output=True)
    whole = (tmp_path / f"whole.{ending}").read_bytes()
    assert (tmp_path / f"out.{ending}").read_bytes() == whole
    assert list((tmp_path / "stored").glob("*.safetensors"))
    assert not list(tmp_path.glob("*.unfinished"))
