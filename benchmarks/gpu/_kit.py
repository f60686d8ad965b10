"""A folder that measures a machine without a network: wheels, tests and benchmarks."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory

from packaging.requirements import Requirement

from benchmarks.gpu._tests import PACKAGES

HOME = Path(__file__).parents[2]
# What a machine with PyTorch, JAX and transformers has.
PRESENT = {"ml-dtypes", "numpy", "packaging", "safetensors"}
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PLATFORMS = [f"manylinux_2_{n}_x86_64" for n in (28, 27, 17, 12, 5)]
LIMIT = 50 << 20  # bytes of the whole folder


def make_kit(folder: Path) -> None:
    """Makes the folder anew, and says how large it is."""
    if folder.exists() and not (folder / "run").exists():
        raise SystemExit(f"{folder} exists and is no kit: choose another folder")
    shutil.rmtree(folder, ignore_errors=True)
    _copy_sources(folder)
    wheels = folder / "wheels"
    names = sorted(_find_needs(["seqloom", *PACKAGES]) - PRESENT)
    _build_wheel(wheels)
    _download([name for name in names if name != "seqloom"], wheels)
    (wheels / "names.txt").write_text("".join(f"{name}\n" for name in names))
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    if size > LIMIT:
        raise SystemExit(f"{folder} has {size / 2**20:.1f} MiB; at most 50 are allowed")
    print(
        f"{folder}: {size / 2**20:.1f} MiB. On the machine with the GPU: {folder}/run OUT"
    )


def _copy_sources(folder: Path) -> None:
    """Copies what git tracks of the tests and benchmarks, and the protein file."""
    command = ["git", "ls-files", "-z", "tests", "benchmarks", "pyproject.toml"]
    done = subprocess.run(command, check=True, cwd=HOME, capture_output=True, text=True)
    for name in filter(None, done.stdout.split("\0")):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(HOME / name, target)
    shutil.copy2(HOME / "benchmarks/gpu/run", folder / "run")
    proteins = Path(os.environ.get("SEQLOOM_DATA", "none"), "protein/QUERY.fasta")
    if proteins.exists():
        (folder / "data/protein").mkdir(parents=True)
        shutil.copyfile(proteins, folder / "data/protein/QUERY.fasta")


def _find_needs(names: Iterable[str]) -> set[str]:
    """The packages, and all that they need, as installed here."""
    needs: set[str] = set()
    rest = list(names)
    while rest:
        name = re.sub(r"[-_.]+", "-", rest.pop()).lower()
        if name in needs:
            continue
        needs.add(name)
        if name in PRESENT:
            continue
        requirements = map(Requirement, metadata.requires(name) or ())
        rest += [
            it.name
            for it in requirements
            if not it.marker or it.marker.evaluate({"extra": ""})
        ]
    return needs


def _build_wheel(wheels: Path) -> None:
    """Builds the wheel of the project from what is compiled already."""
    command = ["maturin", "build", "--quiet", "--release", "--compatibility", "linux"]
    subprocess.run([*command, "--out", wheels], check=True, cwd=HOME)


def _download(names: Iterable[str], wheels: Path) -> None:
    """Downloads the pinned wheels of packages for each Python, and checks their hashes."""
    pins = (HOME / "constraints.txt").read_text()
    blocks = {
        match[1].lower(): match[0]
        for match in re.finditer(r"^([\w.-]+)==(?:.*\\\n)*.*$", pins, re.MULTILINE)
    }
    with TemporaryDirectory() as folder:
        needs = Path(folder, "needs.txt")
        needs.write_text("\n".join(blocks[name] for name in names))
        for python in PYTHONS:
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
            command += ["--disable-pip-version-check", "--only-binary=:all:"]
            command += [
                "--require-hashes",
                "--requirement",
                str(needs),
                "--dest",
                str(wheels),
            ]
            command += ["--python-version", python, "--implementation", "cp"]
            command += [part for it in PLATFORMS for part in ("--platform", it)]
            subprocess.run(command, check=True)
