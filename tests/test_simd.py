"""SEQLOOM_SIMD limits the instruction set of seqloom's kernels."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from seqloom._rust import _native

# Instruction sets from the widest to the narrowest. A processor supports all narrower
# sets.
USABLE_INSTRUCTION_SETS = {
    "avx512": ["avx512", "avx2", "portable"],
    "avx2": ["avx2", "portable"],
}
CURRENT_INSTRUCTION_SET = _native.simd()  # instruction set, limited by SEQLOOM_SIMD
TESTED_INSTRUCTION_SETS = USABLE_INSTRUCTION_SETS.get(
    CURRENT_INSTRUCTION_SET, [CURRENT_INSTRUCTION_SET, "portable"]
)

# A script that prints hashes of exact results: sequences, genotypes, random numbers,
# parsing.
DIGEST_SCRIPT = """
import hashlib
import numpy as np
import seqloom as sl
from pathlib import Path

draw = np.random.default_rng(0)
records = ["".join(draw.choice(list("ACGT"), n)) for n in draw.integers(9, 300, 200)]
short = [record[:9] for record in records]
genotypes = draw.choice(np.array([0, 1, 2, -127], np.int8), (131, 67))
fasta = [f">r{i}\\n{record}\\n" for i, record in enumerate(records)]
fastq = [f"@r{i}\\n{r}\\n+\\n{'I' * len(r)}\\n" for i, r in enumerate(records)]
Path("x.fa").write_text("".join(fasta))
Path("x.fq").write_text("".join(fastq))
sl.io.to_bed("x.bed", genotypes)
rows = sl.Key(4).uniform(3500).reshape(50, 70) - 0.5
layer = sl.nn.Int8Linear.of(sl.nn.Linear(70, 45).bind("numpy", sl.Key(5)), rows.max(axis=0))
found = {
    "one-hot": sl.encode.OneHot("dna").batch(short),
    "k-mers": sl.encode.Kmer(4).batch(short),
    "fasta": b"".join(record.sequence for record in sl.io.open_sequences("x.fa")),
    "fastq": b"".join(record.sequence for record in sl.io.open_sequences("x.fq")),
    "random": sl.Key(3).uniform(1001),
    "bed": sl.io.open_bed("x.bed").read(dtype="float32"),
    "8-bit layer": layer(layer.backend.tensor(rows)).numpy(),
    "a part": sl.io.open_bed("x.bed").read(np.s_[3:99:5, ::3], dtype="int8"),
}
for name, value in found.items():
    data = value if isinstance(value, bytes) else np.ascontiguousarray(value).tobytes()
    print(name, hashlib.sha256(data).hexdigest())
"""


def run(code, cap, folder):
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "SEQLOOM_SIMD": cap},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("cap", TESTED_INSTRUCTION_SETS)
def test_kernels_use_the_requested_instruction_set(cap, tmp_path):
    code = "from seqloom._rust import _native; print(_native.simd())"
    assert run(code, cap, tmp_path).stdout.strip() == cap


def test_an_unavailable_instruction_set_is_an_error_that_lists_the_available_ones(
    tmp_path,
):
    errors = run("import seqloom", "sse", tmp_path).stderr
    assert 'SEQLOOM_SIMD is "sse"' in errors
    assert f"this processor offers {', '.join(TESTED_INSTRUCTION_SETS)}" in errors


COMMANDS_BY_PROGRAM = {
    "script": [str(Path(sysconfig.get_path("scripts")) / "seqloom")],
    "module": [sys.executable, "-m", "seqloom"],
}


@pytest.mark.parametrize("command", COMMANDS_BY_PROGRAM.values(), ids=COMMANDS_BY_PROGRAM)
def test_an_unknown_instruction_set_ends_the_command_with_one_line(command):
    environment = {**os.environ, "SEQLOOM_SIMD": "wrong"}
    ended = subprocess.run(
        [*command, "--help"], env=environment, capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith(
        'error: SEQLOOM_SIMD is "wrong", and this processor offers'
    )
    assert ended.stderr.count("\n") == 1


def test_every_instruction_set_gives_the_same_bits(tmp_path):
    found = {cap: run(DIGEST_SCRIPT, cap, tmp_path) for cap in TESTED_INSTRUCTION_SETS}
    assert found[CURRENT_INSTRUCTION_SET].stdout.count("\n") == 8, found[
        CURRENT_INSTRUCTION_SET
    ].stderr
    assert {each.stdout for each in found.values()} == {
        found[CURRENT_INSTRUCTION_SET].stdout
    }
