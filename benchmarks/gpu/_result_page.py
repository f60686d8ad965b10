"""Writes the results of a GPU run into docs/benchmarks.md."""

from collections.abc import Sequence
from pathlib import Path

from benchmarks._page import markdown_table, publish_section
from benchmarks.gpu import _inference, _training
from benchmarks.gpu._results import (
    RESULTS_FILE,
    Result,
    explain_failure,
    has_failed,
    is_skipped,
    read_results,
)


def publish_results(out: Path) -> None:
    """Write the results of a GPU run into the page, or print those of a small run."""
    results = read_results(out / RESULTS_FILE)
    settings = next(result for result in results if result["what"] == "settings")
    machine = next((result for result in results if result["what"] == "machine"), None)
    if machine is None:
        raise SystemExit(
            f"{out / RESULTS_FILE} does not name the machine: run the part `check` too, "
            "for example --parts check training"
        )
    text = "\n\n".join(make_page(results, machine))
    if settings["is_tiny"] or settings["device"] == "cpu":
        print(text)
    else:
        publish_section("gpu", text, kind=machine["device"])


def make_page(results: Sequence[Result], machine: Result) -> list[str]:
    """Return all tables, the list of failures, and the description of the machine."""
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
    """Describe the time of `seqloom embed`, and whether a resumed run wrote equal files."""
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
    """Return a table of the numerical errors of the checked operations."""
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
    return [markdown_table(("operation", "error", "limit", "within"), rows)] if rows else []


def _describe_tests(results: Sequence[Result]) -> list[str]:
    """Return a sentence with the number of tests for each outcome."""
    tests = [result for result in results if "outcome" in result]
    counts = {
        outcome: sum(test["outcome"] == outcome for test in tests)
        for outcome in ("passed", "skipped", "failed", "unfinished")
    }
    # If the test process was killed, no summary reports the tests that did not run.
    for result in results:
        if result["what"] == "summary":
            counts["not run"] = result["not_run"]
    text = ", ".join(f"{count:,} {outcome}" for outcome, count in counts.items())
    return [f"Tests on the device: {text}."] if tests else []


def _list_skipped_and_failed(results: Sequence[Result]) -> list[str]:
    """List the skipped and failed measurements, and the failed tests."""
    lines = [
        f"- {_result_label(result)}: skipped: {result['skipped']}"
        for result in results
        if is_skipped(result) and "outcome" not in result
    ]
    for result in filter(has_failed, results):
        why = explain_failure(result)
        lines.append(f"- {_result_label(result)}: **failed**: {why}")
    return ["Skipped or failed:\n\n" + "\n".join(lines)] if lines else []


def _result_label(result: Result) -> str:
    """Join the names of the benchmark, the measurement, the network and the library."""
    keys = ("part", "what", "network", "size", "dtype", "mode", "side")
    return ", ".join(str(result[key]) for key in keys if result.get(key))


def _describe_machine(machine: Result) -> str:
    names = [machine["device"]]
    names += [f"driver {machine['driver']}"] if machine.get("driver") else []
    names += [f"CUDA {machine['cuda']}"] if machine.get("cuda") else []
    names += [machine["processor"], f"CPython {machine['python']}"]
    versions = machine["versions"].items()
    names += [f"{name} {version}" for name, version in versions if version]
    return f"Measured on {', '.join(names)}."
