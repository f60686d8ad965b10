"""Writes the results of a run into docs/benchmarks.md, under the name of the device."""

from collections.abc import Sequence
from pathlib import Path

from benchmarks._page import publish, table
from benchmarks.gpu import _inference, _training
from benchmarks.gpu._results import (
    RESULTS,
    Result,
    explain_failure,
    has_failed,
    is_skipped,
    read_results,
)


def publish_results(out: Path) -> None:
    """Publish the results in a folder; those of a tiny run or a CPU are only printed."""
    results = read_results(out / RESULTS)
    settings = next(result for result in results if result["what"] == "settings")
    machine = next((result for result in results if result["what"] == "machine"), None)
    if machine is None:
        raise SystemExit(
            f"{out / RESULTS} does not name the machine: run the part `check` too, "
            "for example --parts check training"
        )
    text = "\n\n".join(make_page(results, machine))
    if settings["is_tiny"] or settings["device"] == "cpu":
        print(text)
    else:
        publish("gpu", text, kind=machine["device"])


def make_page(results: Sequence[Result], machine: Result) -> list[str]:
    """Return all tables, the failures and skipped measurements, and the machine."""
    parts = {
        part: [result for result in results if result["part"] == part]
        for part in ("inference", "training", "embed", "check", "tests")
    }
    return [
        *_inference.make_tables(parts["inference"], machine["device"]),
        *_training.make_tables(parts["training"]),
        *_describe_embed(parts["embed"]),
        *_describe_checks(parts["check"]),
        *_describe_tests(parts["tests"]),
        *_list_skipped_and_failed(results),
        _describe_machine(machine),
    ]


def _describe_embed(results: Sequence[Result]) -> list[str]:
    """Return the time of the command, and whether a resumed run gives the same files."""
    lines: list[str] = []
    for result in results:
        if result["what"] == "embed":
            lines.append(
                f"`seqloom embed` with the {result['model']} shape embedded "
                f"{result['proteins']:,} proteins ({result['file']}) in "
                f"{result['seconds']:.1f} s, its start included."
            )
        if "before_kill" in result:
            verb = "equal" if result["ok"] else "**differ from**"
            lines.append(
                f"Killed after {result['before_kill']} of {result['shards']} files and "
                f"resumed, it wrote files that {verb} those of a run without a kill."
            )
    return [" ".join(lines)] if lines else []


def _describe_checks(results: Sequence[Result]) -> list[str]:
    """Return the errors of single operations."""
    rows = [
        [
            result["what"],
            f"{result['error']:.1e}",
            f"{result['limit']:.0e}",
            "yes" if result["ok"] else "**no**",
        ]
        for result in results
        if "error" in result
    ]
    return [table(("operation", "error", "limit", "within"), rows)] if rows else []


def _describe_tests(results: Sequence[Result]) -> list[str]:
    """Return the number of tests with each outcome."""
    tests = [result for result in results if "outcome" in result]
    counts = {
        outcome: sum(test["outcome"] == outcome for test in tests)
        for outcome in ("passed", "skipped", "failed", "unfinished")
    }
    # Without a summary the part was killed, and the number is not known.
    for result in results:
        if result["what"] == "summary":
            counts["not run"] = result["not_run"]
    text = ", ".join(f"{count:,} {outcome}" for outcome, count in counts.items())
    return [f"Tests on the device: {text}."] if tests else []


def _list_skipped_and_failed(results: Sequence[Result]) -> list[str]:
    """Return the measurements that were skipped or failed, and the tests that failed."""
    lines = [
        f"- {_describe_name(result)}: skipped: {result['skipped']}"
        for result in results
        if is_skipped(result) and "outcome" not in result
    ]
    for result in filter(has_failed, results):
        why = explain_failure(result)
        lines.append(f"- {_describe_name(result)}: **failed**: {why}")
    return ["Skipped or failed:\n\n" + "\n".join(lines)] if lines else []


def _describe_name(result: Result) -> str:
    """Return the part and its measurement, with the network and the side."""
    keys = ("part", "what", "network", "size", "dtype", "mode", "side")
    return ", ".join(str(result[key]) for key in keys if result.get(key))


def _describe_machine(machine: Result) -> str:
    """Return the device, the processor and the versions of packages."""
    names = [machine["device"]]
    names += [f"driver {machine['driver']}"] if machine.get("driver") else []
    names += [f"CUDA {machine['cuda']}"] if machine.get("cuda") else []
    names += [machine["processor"], f"CPython {machine['python']}"]
    versions = machine["versions"].items()
    names += [f"{name} {version}" for name, version in versions if version]
    return f"Measured on {', '.join(names)}."
