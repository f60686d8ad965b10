"""Tests of reading variants from pipes, in forked processes, and until Ctrl-C."""

import gzip
import shutil
import signal
import subprocess
import sys
import time
from typing import Any

import pytest

from seqloom.io import VariantWriter
from waiting import LONGEST_WAIT_S

HEADER = (
    "##fileformat=VCFv4.2\n"
    "##contig=<ID=chr1,length=10000000>\n"
    '##INFO=<ID=DP,Number=1,Type=Integer,Description="Depth">\n'
    '##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">\n'
    "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\ts1\n"
)
RECORD_COUNT = 30_000
BCFTOOLS: Any = shutil.which("bcftools")
FORMATS = ("plain", "gzip", "bgzip", "bcf", "plain bcf")

SUM_SCRIPT = """
import sys
from seqloom.io import open_variants
with open_variants("-", samples=True, fields=["INFO/DP"]) as reader:
    for batch in reader.batches(5000):
        genotypes = batch.genotypes.sum()
        print(len(batch), batch.starts.sum(), batch.info["DP"].sum(), genotypes)
print(reader.report.records)
"""

FORK_SCRIPT = """
import os, sys
from seqloom.io import open_variants
reader = open_variants(sys.argv[1], threads=2, region=sys.argv[2:] or None)
batches = reader.batches(1000)
first = next(batches)
child = os.fork()
if child == 0:
    try:
        print(sum(map(len, batches)), flush=True)
    except Exception as error:
        print(error, flush=True)
    os._exit(0)
os.waitpid(child, 0)
print(len(first) + sum(map(len, batches)))
"""

WAIT_SCRIPT = """
from seqloom.io import open_variants
print("ready", flush=True)
for batch in open_variants("-", threads=2).batches(10):
    pass
"""


def text_of_records():
    rows = (
        f"chr1\t{at * 7}\t.\tA\tG\t.\tPASS\tDP={at % 91}\tGT\t{at % 2}|1\n"
        for at in range(1, RECORD_COUNT + 1)
    )
    return HEADER + "".join(rows)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The same records in each format."""
    folder = tmp_path_factory.mktemp("sources")
    paths = {name: folder / name for name in FORMATS}
    text = text_of_records()
    paths["plain"].write_text(text)
    paths["gzip"].write_bytes(gzip.compress(text.encode(), 1))
    with VariantWriter(folder / "a.vcf.gz", paths["plain"]) as writer:
        writer.write([""] * RECORD_COUNT)
    shutil.copy(folder / "a.vcf.gz", paths["bgzip"])
    shutil.copy(folder / "a.vcf.gz.tbi", folder / "bgzip.tbi")
    if BCFTOOLS:
        command = [BCFTOOLS, "view", "-Ob", "-o", paths["bcf"], paths["plain"]]
        subprocess.run(command, check=True)
        paths["plain bcf"].write_bytes(gzip.decompress(paths["bcf"].read_bytes()))
    return paths


def run(script, *arguments, **options):
    command = [sys.executable, "-c", script, *arguments]
    done = subprocess.run(command, capture_output=True, check=True, text=True, **options)
    return done.stdout.splitlines()


def expected_sums():
    numbers = range(1, RECORD_COUNT + 1)
    for start in range(0, RECORD_COUNT, 5000):
        part = numbers[start : start + 5000]
        starts, depths = sum(at * 7 - 1 for at in part), sum(at % 91 for at in part)
        yield f"5000 {starts} {depths} {sum(at % 2 + 1 for at in part)}"
    yield str(RECORD_COUNT)


@pytest.mark.parametrize("name", FORMATS)
def test_standard_input_has_the_records_of_the_file(files, name):
    if "bcf" in name and not BCFTOOLS:
        pytest.skip("bcftools is not installed")
    with subprocess.Popen(["/bin/cat", files[name]], stdout=subprocess.PIPE) as cat:
        found = run(SUM_SCRIPT, stdin=cat.stdout)
    assert found == list(expected_sums())


@pytest.mark.skipif(BCFTOOLS is None, reason="bcftools is not installed")
def test_the_pipe_of_bcftools_is_read(files):
    command = [BCFTOOLS, "view", "-Ou", files["bgzip"]]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as bcftools:
        found = run(SUM_SCRIPT, stdin=bcftools.stdout)
    assert found == list(expected_sums())


@pytest.mark.parametrize("name", ["plain", "bgzip"])
def test_reading_in_a_forked_process_is_an_error_only_in_the_child(files, name):
    said, count = run(FORK_SCRIPT, files[name])
    assert "open it again in this process" in said
    assert int(count) == RECORD_COUNT


def test_a_forked_process_reads_the_rest_of_a_region(files):
    rest, count = run(FORK_SCRIPT, files["bgzip"], "chr1:1-140000")
    assert (int(rest), int(count)) == (19_000, 20_000)


@pytest.mark.parametrize("name", ["nothing", "plain", "bgzip"])
def test_ctrl_c_stops_waiting_for_standard_input(files, name):
    first = b"" if name == "nothing" else files[name].read_bytes()[:90_000]
    command = [sys.executable, "-c", WAIT_SCRIPT]
    with subprocess.Popen(command, stdin=-1, stdout=-1, stderr=-1) as process:
        process.stdout.readline()
        process.stdin.write(first)
        process.stdin.flush()
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        process.wait(LONGEST_WAIT_S)
        assert b"KeyboardInterrupt" in process.stderr.read()
    assert process.returncode == -signal.SIGINT
