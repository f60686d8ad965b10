"""Writes the results of a run into docs/benchmarks.md, under the name of the device."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks._page import publish, table
from benchmarks.gpu import _inference, _training
from benchmarks.gpu._results import RESULTS, has_failed, read_results

Found = Sequence[dict[str, Any]]


def publish_results(out: Path) -> None:
    """Publishes the results in a folder; those of a tiny run are printed alone."""
    results = read_results(out / RESULTS)
    settings = next(it for it in results if it["what"] == "settings")
    machine = next((it for it in results if it["what"] == "machine"), None)
    if machine is None:
        raise SystemExit(f"{out / RESULTS} does not say which machine it is of")
    text = "\n\n".join(tell(results, machine))
    if settings["is_tiny"]:
        print(text)
    else:
        publish("gpu", text, kind=machine["device"])


def tell(results: Found, machine: dict[str, Any]) -> list[str]:
    """All tables, and what failed or was left out."""
    return [
        *_inference.tell(
            [it for it in results if it["part"] == "inference"], machine["device"]
        ),
        " ".join(_inference.NOTES.split()),
        *_training.tables([it for it in results if it["part"] == "training"]),
        *_tell_embed([it for it in results if it["part"] == "embed"]),
        *_tell_checks([it for it in results if it["part"] == "check"]),
        *_tell_tests([it for it in results if it["part"] == "tests"]),
        *_tell_rest(results),
        _describe(machine),
    ]


def _tell_embed(results: Found) -> list[str]:
    """The whole command, and whether a resumed run gives the same files."""
    lines: list[str] = []
    for it in results:
        if it["what"] == "embed":
            lines.append(
                f"`seqloom embed` with the {it['model']} shape embedded {it['proteins']:,} "
                f"proteins ({it['file']}) in {it['seconds']:.1f} s, its start included."
            )
        if "before_kill" in it:
            same = "are the same in every byte" if it["ok"] else "**differ**"
            lines.append(
                f"Killed after {it['before_kill']} of {it['shards']} files and resumed, "
                f"its files {same} as those of a run that was not killed."
            )
    return [" ".join(lines)] if lines else []


def _tell_checks(results: Found) -> list[str]:
    """The errors of single operations."""
    rows = [
        [
            it["what"],
            f"{it['error']:.1e}",
            f"{it['limit']:.0e}",
            "yes" if it["ok"] else "**no**",
        ]
        for it in results
        if "error" in it
    ]
    return [table(("operation", "error", "limit", "within"), rows)] if rows else []


def _tell_tests(results: Found) -> list[str]:
    """How many tests passed, were skipped, and failed."""
    tests = [it for it in results if "outcome" in it]
    counts = {
        name: sum(it["outcome"] == name for it in tests)
        for name in ("passed", "skipped", "failed")
    }
    text = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    return [f"Tests on the device: {text}."] if tests else []


def _tell_rest(results: Found) -> list[str]:
    """What was skipped or failed, apart from single tests that were skipped."""
    lines = [
        f"- {_name(it)}: skipped: {it['skipped']}"
        for it in results
        if "skipped" in it and "outcome" not in it and it["what"] != "summary"
    ]
    lines += [
        f"- {_name(it)}: **failed**: {it.get('failed') or it.get('why', 'not as expected')}"
        for it in results
        if has_failed(it)
    ]
    return ["Skipped or failed:\n\n" + "\n".join(lines)] if lines else []


def _name(it: dict[str, Any]) -> str:
    """The part, what was done, and with which network."""
    keys = ("part", "what", "network", "dtype", "mode")
    return ", ".join(str(it[key]) for key in keys if it.get(key))


def _describe(machine: dict[str, Any]) -> str:
    """The device, the processor and the versions of packages."""
    versions = machine["versions"].items()
    packages = ", ".join(f"{name} {version}" for name, version in versions if version)
    driver = (
        f", driver {machine['driver']}, CUDA {machine['cuda']}" if "cuda" in machine else ""
    )
    return (
        f"Measured on {machine['device']}{driver}, {machine['processor']}, "
        f"CPython {machine['python']}, {packages}."
    )
