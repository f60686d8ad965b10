"""Packs wheels, tests and benchmarks into a folder for a GPU machine without a network."""

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

REPOSITORY_ROOT = Path(__file__).parents[2]
# These packages are not packed, because PyTorch, JAX and transformers need them too.
PREINSTALLED_PACKAGES = {"ml-dtypes", "numpy", "packaging", "safetensors"}
PYTHON_VERSIONS = ("3.11", "3.12", "3.13", "3.14")
PLATFORM_TAGS = [f"manylinux_2_{n}_x86_64" for n in (28, 27, 17, 12, 5)]
MAX_KIT_BYTES = 50 << 20  # maximum size of the folder in bytes


def make_kit(folder: Path) -> None:
    """Create or replace the folder, and print its size."""
    wheels = folder / "wheels"
    if folder.exists() and not wheels.is_dir():
        raise SystemExit(f"{folder} exists and is not a kit: choose another folder")
    shutil.rmtree(folder, ignore_errors=True)
    wheels.mkdir(parents=True)
    _copy_sources(folder)
    names = sorted(_find_requirements(["seqloom", *PACKAGES]) - PREINSTALLED_PACKAGES)
    _build_wheel(wheels)
    _download_wheels([name for name in names if name != "seqloom"], wheels)
    (wheels / "names.txt").write_text("".join(f"{name}\n" for name in names))
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    mib = f"{size / 2**20:.1f} MiB"
    if size > MAX_KIT_BYTES:
        raise SystemExit(
            f"{folder} has {mib}; at most {MAX_KIT_BYTES >> 20} MiB are allowed"
        )
    print(f"{folder}: {mib}. On the machine with the GPU: {folder}/run OUT")


def _copy_sources(folder: Path) -> None:
    """Copy the tests and benchmarks that git tracks, and QUERY.fasta if it exists."""
    command = ["git", "ls-files", "-z", "tests", "benchmarks", "pyproject.toml"]
    listing = subprocess.run(
        command, check=True, cwd=REPOSITORY_ROOT, capture_output=True, text=True
    )
    for name in filter(None, listing.stdout.split("\0")):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(REPOSITORY_ROOT / name, target)
    shutil.copy2(REPOSITORY_ROOT / "benchmarks/gpu/run", folder / "run")
    proteins = Path(os.environ.get("SEQLOOM_DATA", "none"), "protein/QUERY.fasta")
    if proteins.exists():
        (folder / "data/protein").mkdir(parents=True)
        shutil.copyfile(proteins, folder / "data/protein/QUERY.fasta")


def _find_requirements(names: Iterable[str]) -> set[str]:
    """Return packages and all their requirements, read from the installed metadata."""
    packages: set[str] = set()
    rest = list(names)
    while rest:
        name = re.sub(r"[-_.]+", "-", rest.pop()).lower()
        if name in packages:
            continue
        packages.add(name)
        if name in PREINSTALLED_PACKAGES:
            continue
        for line in metadata.requires(name) or ():
            requirement = Requirement(line)
            marker = requirement.marker
            if not marker or marker.evaluate({"extra": ""}):
                rest.append(requirement.name)
    return packages


def _build_wheel(wheels: Path) -> None:
    command = ["maturin", "build", "--quiet", "--release", "--compatibility", "linux"]
    subprocess.run([*command, "--out", wheels], check=True, cwd=REPOSITORY_ROOT)


def _download_wheels(names: Iterable[str], wheels: Path) -> None:
    """Download the pinned wheels for each Python version, and check their hashes."""
    pins = (REPOSITORY_ROOT / "constraints.txt").read_text()
    blocks = {
        match[1].lower(): match[0]
        for match in re.finditer(r"^([\w.-]+)==(?:.*\\\n)*.*$", pins, re.MULTILINE)
    }
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--disable-pip-version-check", "--only-binary=:all:", "--require-hashes"]
    command += ["--dest", str(wheels), "--implementation", "cp"]
    for platform in PLATFORM_TAGS:
        command += ["--platform", platform]
    missing = ", ".join(name for name in names if name not in blocks)
    if missing:
        raise SystemExit(f"constraints.txt has no version of {missing}: run `make pins`")
    with TemporaryDirectory() as folder:
        requirements = Path(folder, "requirements.txt")
        requirements.write_text("\n".join(blocks[name] for name in names))
        command += ["--requirement", str(requirements)]
        for python in PYTHON_VERSIONS:
            subprocess.run([*command, "--python-version", python], check=True)
