"""Tries a wheel on every CPython from 3.11 up that really starts (`make wheel`).

Before that, what the wheel says of its parts is compared with what was built.
"""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

WHO = (
    "import json, sys; print(json.dumps([sys.implementation.name, *sys.version_info[:2]]))"
)
TRAIN_AND_PREDICT = """
from pathlib import Path
import seqloom as sl

demo = Path(sl.__file__).parent / "_demo"
train = sl.data.SequenceDataset(
    demo / "train.fa.gz", labels=demo / "train.tsv", encoder=sl.encode.OneHot("dna")
)
sl.train.fit(sl.models.SequenceCNNConfig.for_data(train), train, epochs=2, out="run")
scores = sl.infer.predict(sl.models.load("run"), demo / "test.fa.gz").to_numpy()
assert scores.shape == (1186, 3), scores.shape
assert abs(scores.sum(axis=1) - 1).max() < 1e-5
"""


def main() -> None:
    """Runs the trial on each interpreter; ends with an error at the first that fails."""
    wheel = Path(sys.argv[1]).resolve()
    print(f"{wheel.name} names the {compare_parts(wheel)} crates that are built in")
    found = interpreters()
    for version, python in found.items():
        try_wheel(wheel, python)
        print(
            f"{wheel.name} trains and predicts on CPython {version} ({python})", flush=True
        )
    if len(found) < 2:
        print(f"SKIPPED: a second CPython; only {', '.join(found) or 'none'} starts here")


def compare_parts(wheel: Path) -> int:
    """Compares the CycloneDX file in the wheel with Cargo; the number of crates in both."""
    with ZipFile(wheel) as file:
        (name,) = [name for name in file.namelist() if ".dist-info/sboms/" in name]
        bill = json.loads(file.read(name))
    assert bill["bomFormat"] == "CycloneDX", bill["bomFormat"]
    named = {
        (part["name"], part["version"]): [it["content"] for it in part.get("hashes", [])]
        for part in bill["components"]
    }
    built = built_crates()
    missing = [crate for crate, hashes in built.items() if named.get(crate) != hashes]
    assert not missing, f"{name} lacks crates, or names them with other hashes: {missing}"
    return len(built)


def built_crates() -> dict[tuple[str, str], list[str]]:
    """The crates in the extension and in `seqloom-run`, with the hashes of `Cargo.lock`."""
    command = ("cargo", "tree", "--locked", "--edges", "normal", "--prefix", "none")
    answer = subprocess.run(
        [
            *command,
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
    """One path for each minor version of CPython from 3.11 up that starts."""
    on_path = [Path(folder) for folder in os.get_exec_path()]
    of_pyenv = (Path.home() / ".pyenv/versions").glob("*/bin")
    paths = [
        path for folder in [*on_path, *of_pyenv] for path in sorted(folder.glob("python3*"))
    ]
    found = {version: path for path in reversed(paths) if (version := version_of(path))}
    return dict(sorted(found.items()))


def version_of(path: Path) -> str | None:
    """The version of a CPython from 3.11 up; nothing where it is another or fails."""
    if not path.name.removeprefix("python3").removeprefix(".").isdigit():
        return None
    answer = subprocess.run([path, "-c", WHO], capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        return None
    name, major, minor = json.loads(answer.stdout)
    return f"{major}.{minor}" if name == "cpython" and (major, minor) >= (3, 11) else None


def try_wheel(wheel: Path, python: Path) -> None:
    """Installs the wheel into an empty environment, trains two epochs and predicts."""
    with TemporaryDirectory(prefix="seqloom-wheel-") as folder:
        run("uv", "venv", "--quiet", "--python", python, "venv", folder=folder)
        run(
            *("uv", "pip", "install", "--quiet", "--python", "venv"),
            *("--only-binary", ":all:", wheel),
            folder=folder,
        )
        run("venv/bin/python", "-I", "-c", TRAIN_AND_PREDICT, folder=folder)


def run(*command: str | Path, folder: str) -> None:
    """Runs a command in a folder; its failure is ours."""
    subprocess.run(command, cwd=folder, check=True)


if __name__ == "__main__":
    main()
