"""Test wheels on every installed CPython from 3.11 up (`make wheel`, `make wheels`).

If Cargo is installed, the list of crates in each wheel is first compared with `cargo tree`
and `Cargo.lock`. Wheels for other systems or processors are only listed.
"""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from platform import libc_ver, machine
from shutil import which
from tempfile import TemporaryDirectory
from zipfile import ZipFile

INTERPRETER_SCRIPT = (
    "import json, sys; print(json.dumps([sys.implementation.name, *sys.version_info[:2]]))"
)
TRAINING_PROGRAM = Path(__file__).with_name("train_and_predict.py").read_text("utf-8")
FASTA_FILE = "files/test.fa.gz"
# Rust target of a wheel, by the start and the end of its platform tag.
TARGET_OF_WHEEL = {
    ("manylinux", "x86_64"): "x86_64-unknown-linux-gnu",
    ("manylinux", "aarch64"): "aarch64-unknown-linux-gnu",
    ("musllinux", "x86_64"): "x86_64-unknown-linux-musl",
    ("musllinux", "aarch64"): "aarch64-unknown-linux-musl",
    ("macosx", "arm64"): "aarch64-apple-darwin",
    ("macosx", "x86_64"): "x86_64-apple-darwin",
    ("win", "amd64"): "x86_64-pc-windows-gnu",
}


def main() -> None:
    """Test each wheel in a folder; stop at the first failure."""
    folder = Path(sys.argv[1] if sys.argv[1:] else "dist").resolve()
    wheels = sorted(folder.glob("*.whl"))
    if not wheels:
        sys.exit(f"{folder} holds no wheel: make wheel, or make wheels")
    for wheel in wheels:
        size = wheel.stat().st_size / 1e6
        if which("cargo"):
            print(f"{wheel.name} ({size:.1f} MB) names its {compare_parts(wheel)} crates")
        if target_of(wheel) == own_target():
            try_on_all(wheel)
        else:
            print(f"NOT RUN on this machine: {wheel.name}")


def target_of(wheel: Path) -> str:
    """Return the Rust target that a wheel was built for."""
    platform = wheel.stem.rsplit("-", 1)[1]
    return next(
        target
        for (system, processor), target in TARGET_OF_WHEEL.items()
        if platform.startswith(system) and platform.endswith(processor)
    )


def own_target() -> str | None:
    """Return the target of the wheel for this machine."""
    systems = {"darwin": "macosx", "win32": "win"}
    linux = "manylinux" if libc_ver()[0] == "glibc" else "musllinux"
    return TARGET_OF_WHEEL.get((systems.get(sys.platform, linux), machine().lower()))


def try_on_all(wheel: Path) -> None:
    """Test a wheel on each interpreter."""
    found = interpreters()
    for version, python in found.items():
        try_wheel(wheel, python)
        print(
            f"{wheel.name} trains and predicts on CPython {version} ({python})", flush=True
        )
    if len(found) < 2:
        print(f"SKIPPED: a second CPython; only {', '.join(found) or 'none'} starts here")


def compare_parts(wheel: Path) -> int:
    """Compare the CycloneDX file in the wheel with Cargo; return the number of crates."""
    with ZipFile(wheel) as file:
        (name,) = [name for name in file.namelist() if ".dist-info/sboms/" in name]
        bill = json.loads(file.read(name))
    assert bill["bomFormat"] == "CycloneDX", bill["bomFormat"]
    named = {
        (part["name"], part["version"]): [it["content"] for it in part.get("hashes", [])]
        for part in bill["components"]
    }
    built = built_crates(target_of(wheel))
    missing = [crate for crate, hashes in built.items() if named.get(crate) != hashes]
    assert not missing, f"{name} lacks crates, or names them with other hashes: {missing}"
    return len(built)


def built_crates(target: str) -> dict[tuple[str, str], list[str]]:
    """Return the crates in the extension and in `seqloom-run`, with hashes."""
    command = ("cargo", "tree", "--locked", "--edges", "normal", "--prefix", "none")
    answer = subprocess.run(
        [
            *command,
            "--target",
            target,
            "--format",
            "{p}",
            "--package",
            "seqloom-py",
            "--package",
            "seqloom-run",
        ],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    lines = {tuple(line.split()[:2]) for line in answer.stdout.splitlines() if line}
    crates = {(name, version.removeprefix("v")) for name, version in lines}
    lock = tomllib.loads(Path("Cargo.lock").read_text("utf-8"))["package"]
    return {
        (it["name"], it["version"]): [it["checksum"]] if "checksum" in it else []
        for it in lock
        if (it["name"], it["version"]) in crates and it["name"] != "seqloom-py"
    }


def interpreters() -> dict[str, Path]:
    """Return one interpreter path for each minor version, from CPython 3.11 on."""
    on_path = [Path(folder) for folder in os.get_exec_path()]
    of_pyenv = (Path.home() / ".pyenv/versions").glob("*/bin")
    paths = [
        path for folder in [*on_path, *of_pyenv] for path in sorted(folder.glob("python3*"))
    ]
    paths.append(Path(sys.executable))
    found = {version: path for path in reversed(paths) if (version := version_of(path))}
    return dict(sorted(found.items()))


def version_of(path: Path) -> str | None:
    """Return the version of a CPython interpreter, or nothing if it is below 3.11."""
    number = path.name.removeprefix("python3").removeprefix(".")
    if not number.isdigit() and path != Path(sys.executable):
        return None
    answer = subprocess.run(
        [path, "-c", INTERPRETER_SCRIPT], capture_output=True, text=True, check=False
    )
    if answer.returncode != 0:
        return None
    name, major, minor = json.loads(answer.stdout)
    return f"{major}.{minor}" if name == "cpython" and (major, minor) >= (3, 11) else None


def try_wheel(wheel: Path, python: Path) -> None:
    """Install only the wheel, train, predict, and score without Python."""
    # ml_dtypes has no wheel for musl and is compiled there.
    with TemporaryDirectory(prefix="seqloom-wheel-") as folder:
        run("uv", "venv", "--quiet", "--python", python, "venv", folder=folder)
        run(
            *("uv", "pip", "install", "--quiet", "--python", "venv"),
            *(() if "musllinux" in wheel.name else ("--only-binary", ":all:")),
            wheel,
            folder=folder,
        )
        place = "Scripts" if sys.platform == "win32" else "bin"
        run(
            Path(folder, "venv", place, "python"),
            "-I",
            "-c",
            TRAINING_PROGRAM,
            folder=folder,
        )
        seqloom = Path(folder, "venv", place, "seqloom")
        run(seqloom, "demo", "--files", "files", folder=folder)
        run(seqloom, "predict", "run", FASTA_FILE, "--out", "scores.tsv", folder=folder)
        run(seqloom, "export", "run", "--out", "model.seqloom", folder=folder)
        # Run the program in the wheel that does not use Python.
        run(
            seqloom, "run", "model.seqloom", FASTA_FILE, "--out", "alone.tsv", folder=folder
        )
        with_python, alone = (Path(folder, it) for it in ("scores.tsv", "alone.tsv"))
        assert alone.read_bytes() == with_python.read_bytes(), "seqloom run differs"


def run(*command: str | Path, folder: str) -> None:
    """Run a command in a folder; raise if it fails."""
    subprocess.run(command, cwd=folder, check=True)


if __name__ == "__main__":
    main()
