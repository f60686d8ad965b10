"""Compare the seqloom cases of an older commit with those of this working tree.

`python -m benchmarks --against COMMIT SUITE` builds the extension of the commit. Each round
then runs the cases of a suite once with each package, each time in a fresh interpreter. The
code of the cases comes from this working tree. `make bench AGAINST=COMMIT` also builds the
extension of the working tree again, if its source has changed.
"""

import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from statistics import geometric_mean, median, quantiles
from tempfile import TemporaryDirectory
from typing import NamedTuple, TypeAlias

from benchmarks._measure import REPOSITORY_ROOT, run_module, time_call
from benchmarks._page import describe_machine, markdown_table
from benchmarks.tensor._libraries import thread_environment

# Suite -> module. The function `seqloom_cases` of the module yields, for each case, a name
# and a function that prepares the work.
CASE_MODULES = {
    "kernels": "benchmarks.kernels._seqloom_calls",
    "products": "benchmarks.products._worker",
    "tensor": "benchmarks.tensor._seqloom_networks",
    "infer": "benchmarks.infer._seqloom_inference",
    "loader": "benchmarks.loader",
    "bed": "benchmarks.bed._partial_reads",
}
BUILDS_FOLDER = REPOSITORY_ROOT / "target/against"
ROUNDS = 7
# A ratio is marked if it differs from 1 by more than this tolerance plus the spread.
RATIO_TOLERANCE = 1.03
# A round repeats a case for SECONDS, at least CALLS times, and keeps the shortest time.
SECONDS, CALLS = 0.05, 3
DEFAULT_THREADS = 2  # default number of threads; each case can set another number
ALL_CASES_KEY = "all cases"  # key of a failed process's error message
TABLE_COLUMNS = ("ms", "old", "new", "new / old", "spread", "")

Prepare: TypeAlias = Callable[[], Callable[[], object]]
# Case -> seconds, or the error message of a failed case.
Times: TypeAlias = Mapping[str, float | str]


class TimeComparison(NamedTuple):
    """Median times of one case with the old and the new package, and their spread."""

    old: float
    new: float
    spread: float

    @property
    def ratio(self) -> float:
        """Return the time of the new package divided by the time of the old package."""
        return self.new / self.old

    @property
    def verdict(self) -> str:
        """Return "slower" or "faster" if the ratio exceeds tolerance plus spread."""
        limit = RATIO_TOLERANCE + self.spread
        if self.ratio > limit:
            return "**slower**"
        return "faster" if self.ratio < 1 / limit else ""


def compare_times(old: Sequence[float], new: Sequence[float]) -> TimeComparison:
    """Compare the times of one case; use the larger spread of the two packages."""
    return TimeComparison(
        median(old), median(new), max(_relative_spread(old), _relative_spread(new))
    )


def _relative_spread(seconds: Sequence[float]) -> float:
    """Return the interquartile range as a fraction of the median."""
    first, middle, third = quantiles(seconds, n=4, method="inclusive")
    return (third - first) / middle


def comparison_table(old: Sequence[Times], new: Sequence[Times]) -> str:
    """Return a table of all cases, and the mean of their ratios."""
    rows: list[tuple[str, ...]] = []
    ratios: list[float] = []
    names = dict.fromkeys(name for times in (*new, *old) for name in times)
    for name in [it for it in names if it != ALL_CASES_KEY] or names:
        sides = [
            [times.get(name, times.get(ALL_CASES_KEY, "no such case")) for times in each]
            for each in (old, new)
        ]
        errors = [next((it for it in side if isinstance(it, str)), "") for side in sides]
        if any(errors):
            rows.append(
                (name, *(f"failed: {it}" if it else "" for it in errors), "", "", "")
            )
            continue
        found = compare_times(*([float(it) for it in side] for side in sides))
        ratios.append(found.ratio)
        times = (f"{1e3 * found.old:.4g}", f"{1e3 * found.new:.4g}")
        rows.append(
            (
                name,
                *times,
                f"{found.ratio:.3f}",
                f"{100 * found.spread:.1f} %",
                found.verdict,
            )
        )
    if ratios:
        mean = f"{geometric_mean(ratios):.3f}"
        rows.append(("geometric mean", "", "", mean, "", ""))
    return markdown_table(TABLE_COLUMNS, rows)


def compare_with_commit(commit: str, suites: Sequence[str]) -> None:
    """Build a commit, measure the cases of each suite alternately, and print the tables."""
    unknown = sorted(set(suites) - set(CASE_MODULES))
    if unknown:
        sys.exit(
            f"--against has no cases of {', '.join(unknown)}; it has those of: "
            f"{', '.join(CASE_MODULES)}"
        )
    folder = build_commit(commit)
    packages = {"old": folder / "python", "new": REPOSITORY_ROOT / "python"}
    print(
        f"old: {folder.name}; new: the working tree. {describe_machine('numpy', 'seqloom')}"
    )
    print(
        f"Medians of {ROUNDS} rounds; a round takes the least time of several calls. The "
        "spread is the interquartile range over the median. A case is marked if it is "
        f"slower or faster by over {100 * (RATIO_TOLERANCE - 1):.0f} % plus the spread."
    )
    for suite in suites or CASE_MODULES:
        times = _run_packages_alternately(suite, packages)
        print(f"\n== {suite}\n\n{comparison_table(times['old'], times['new'])}", flush=True)


def build_commit(commit: str) -> Path:
    """Build the extension of a commit if necessary; return the folder of its sources."""
    found = _run_git(
        "rev-parse", "--short=12", "--verify", "--quiet", f"{commit}^{{commit}}"
    )
    if not found:
        sys.exit(f"--against got {commit!r}, which is not a commit, branch or tag here")
    folder = BUILDS_FOLDER / found.decode().strip()
    extension = folder / "python/seqloom/_rust/_native.abi3.so"
    if extension.exists():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    with tarfile.open(fileobj=io.BytesIO(_run_git("archive", folder.name))) as sources:
        sources.extractall(folder, filter="data")
    print(f"building {folder.name}, which takes minutes the first time", flush=True)
    # All commits share one folder, so that dependencies are compiled once.
    variables = {
        "CARGO_TARGET_DIR": str(BUILDS_FOLDER / "build"),
        "PYO3_BUILD_EXTENSION_MODULE": "1",
        "PYO3_PYTHON": sys.executable,
    }
    command = ["cargo", "build", "--release", "--locked", "--package", "seqloom-py"]
    subprocess.run(command, check=True, cwd=folder, env={**os.environ, **variables})
    part = extension.with_suffix(".part")
    shutil.copyfile(BUILDS_FOLDER / "build/release/lib_native.so", part)
    part.replace(extension)
    return folder


def _run_git(*arguments: str) -> bytes:
    """Return the output of git; empty if git fails."""
    command = ["git", *arguments]
    return subprocess.run(
        command, check=False, cwd=REPOSITORY_ROOT, capture_output=True
    ).stdout


def _run_packages_alternately(
    suite: str, packages: Mapping[str, Path]
) -> dict[str, list[Times]]:
    """Run all cases of a suite with each package, in turn."""
    times: dict[str, list[Times]] = {side: [] for side in packages}
    with TemporaryDirectory() as cache:
        for number in range(ROUNDS):
            # The package that runs first alternates between rounds.
            for side in sorted(packages, reverse=number % 2 == 0):
                found = _run_cases_once(suite, packages[side], f"{cache}/{side}")
                times[side].append(found)
            print(f"{suite}: {number + 1} of {ROUNDS} rounds", file=sys.stderr, flush=True)
    return times


def _run_cases_once(suite: str, package: Path, cache: str) -> Times:
    """Run all cases of a suite in a fresh interpreter with one package."""
    variables = {"PYTHONPATH": str(package), "SEQLOOM_CACHE": cache}
    try:
        return run_module(
            "benchmarks._compare_commits",
            suite,
            str(package),
            **{**thread_environment(DEFAULT_THREADS), **variables},
        )
    except subprocess.CalledProcessError as error:
        return {ALL_CASES_KEY: (error.stderr.strip() or "it ended").splitlines()[-1]}


def time_cases(cases: Iterable[tuple[str, Prepare]]) -> Iterator[tuple[str, float | str]]:
    """Yield each case with its shortest time in seconds, or with its error message."""
    for name, prepare in cases:
        try:
            yield name, _shortest_time(prepare())
        except Exception as error:  # noqa: BLE001  # an older package may lack anything
            yield name, f"{type(error).__name__}: {error}"


def _shortest_time(work: Callable[[], object]) -> float:
    """Return the seconds of the fastest of several calls; the first is not counted."""
    work()
    count, total, least = 0, 0.0, float("inf")
    while count < CALLS or total < SECONDS:
        seconds = time_call(work)
        count, total, least = count + 1, total + seconds, min(least, seconds)
    return least


def _main(suite: str, package: str) -> None:
    """Print the times of all cases of a suite; raise if seqloom is not from `package`."""
    import seqloom

    assert Path(seqloom.__file__).is_relative_to(package), f"not {package}'s seqloom"
    cases = import_module(CASE_MODULES[suite]).seqloom_cases()
    print(json.dumps(dict(time_cases(cases))))


if __name__ == "__main__":
    _main(*sys.argv[1:])
