"""PLINK 1.9 (Debian's plink1.9), the reference of genotype statistics."""

import math
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

PLINK_PROGRAM = shutil.which("plink1.9")
needs_plink = pytest.mark.skipif(PLINK_PROGRAM is None, reason="plink1.9 is not installed")


def run(bed, out, *words):
    """Run PLINK on a file set and parse its output with `table`."""
    stem, order = str(bed).removesuffix(".bed"), ("--keep-allele-order", "--allow-no-sex")
    names = ("--bed", bed, "--bim", f"{stem}.bim", "--fam", f"{stem}.fam")
    command = [PLINK_PROGRAM, *names, *order, "--allow-extra-chr", *words, "--out", out]
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return out


def table(out, suffix):
    """Read a PLINK table as a text array for each column."""
    separator = "\t" if suffix == "frqx" else None
    with Path(f"{out}.{suffix}").open() as lines:
        heading, *rows = [line.rstrip("\n").split(separator) for line in lines]
    return dict(zip(heading, np.array(rows, object).T, strict=True))


def is_printed(value, text):
    """Return whether a number equals a number that is printed with four digits."""
    printed = float(text)
    if math.isnan(value) or math.isnan(printed):
        return math.isnan(value) and math.isnan(printed)
    digit = 10.0 ** (math.floor(math.log10(abs(printed))) - 3) if printed else 0
    return abs(value - printed) <= 0.5 * digit * (1 + 1e-6)
