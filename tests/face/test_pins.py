"""Packages are installed with the versions and hashes of `constraints.txt`."""

import os
import re
import subprocess
import sys
import tomllib
from hashlib import sha256
from importlib.metadata import distribution
from itertools import chain
from pathlib import Path
from zipfile import ZipFile

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

REPOSITORY = Path(__file__).parents[2]
UV_PROGRAM = Path(sys.executable).with_name("uv")
PINNED_PACKAGE = re.compile(
    r"^([a-z0-9._-]+)==(\S+).* \\\n((?:    --hash=.*\n)+)", re.MULTILINE
)


def pins() -> set[tuple[str, str]]:
    """Return each name and version that has a hash."""
    found = PINNED_PACKAGE.findall((REPOSITORY / "constraints.txt").read_text("utf-8"))
    return {(name, version) for name, version, hashes in found if "sha256:" in hashes}


def needs(asked: Requirement) -> list[Requirement]:
    """Return the requirements of an installed package, with its requested extras."""
    named = map(Requirement, distribution(asked.name).requires or [])
    values = [{"extra": extra} for extra in asked.extras or [""]]
    return [
        need
        for need in named
        if need.marker is None or any(map(need.marker.evaluate, values))
    ]


def asked_for() -> list[Requirement]:
    """Return the packages that the Makefile installs by name."""
    table = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))
    project, groups = table["project"], table["dependency-groups"]
    extras = project["optional-dependencies"].values()
    lists = [*extras, groups["build"], groups["dev"], groups["frameworks"]]
    named = [*project["dependencies"], *chain.from_iterable(lists)]
    return [Requirement(name) for name in named if isinstance(name, str)]


def installed() -> set[tuple[str, str]]:
    """Return name and version of a package and of all its dependencies."""
    left, seen = asked_for(), dict[str, str]()
    while left:
        asked = left.pop()
        if str(asked) not in seen:
            seen[str(asked)] = canonicalize_name(asked.name)
            left += needs(asked)
    return {(name, distribution(name).version) for name in seen.values()}


def wheel(folder: Path) -> Path:
    """Return the smallest possible wheel."""
    made = folder / "smallest-1.0-py3-none-any.whl"
    metadata = {
        "METADATA": "Metadata-Version: 2.1\nName: smallest\nVersion: 1.0\n",
        "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "RECORD": "",
    }
    with ZipFile(made, "w") as file:
        file.writestr("smallest.py", "")
        for name, text in metadata.items():
            file.writestr(f"smallest-1.0.dist-info/{name}", text)
    return made


def install(folder: Path, *, pinned: str) -> subprocess.CompletedProcess[str]:
    """Install a wheel like the Makefile, with `pinned` as `constraints.txt`."""
    constraints = folder / "constraints.txt"
    constraints.write_text(f"smallest==1.0 \\\n    --hash=sha256:{pinned}\n", "utf-8")
    return subprocess.run(
        [
            *(UV_PROGRAM, "pip", "install", "--no-build", "smallest>=1", "--no-cache"),
            *("--no-index", "--find-links", folder, "--target", folder / "site"),
        ],
        env=os.environ | {"UV_CONSTRAINT": str(constraints)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_required_package_is_pinned_with_a_hash():
    assert installed() - pins() == set()


def test_every_pinned_requirement_has_a_hash():
    lines = (REPOSITORY / "constraints.txt").read_text("utf-8").splitlines()
    assert len(pins()) == sum(not line.startswith(" ") for line in lines)


def test_a_wheel_with_the_pinned_hash_is_installed(tmp_path):
    answer = install(tmp_path, pinned=sha256(wheel(tmp_path).read_bytes()).hexdigest())
    assert answer.returncode == 0, answer.stderr
    assert (tmp_path / "site/smallest.py").exists()


def test_a_wheel_with_another_hash_than_pinned_is_not_installed(tmp_path):
    wheel(tmp_path)
    answer = install(tmp_path, pinned="0" * 64)
    assert answer.returncode != 0
    assert "Hash mismatch" in answer.stderr
    assert not (tmp_path / "site/smallest.py").exists()


def test_the_makefile_installs_only_pinned_packages():
    lines = (REPOSITORY / "Makefile").read_text("utf-8").splitlines()
    assert "export UV_CONSTRAINT := $(CURDIR)/constraints.txt" in lines
    assert [line.split("--quiet ")[1] for line in lines if "pip install" in line] == [
        "--no-build --requirements pyproject.toml",
        "--disable-pip-version-check --require-hashes --only-binary :all: \\",
        "--no-deps --no-build-isolation --editable .",
    ]
