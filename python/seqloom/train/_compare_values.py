"""Runs beside each other as plain values: what ``seqloom compare --json`` prints."""

from dataclasses import asdict
from typing import Any

from seqloom.train._compared import (
    Compared,
    are_alike,
    choose_parts,
    find_ranking_metric,
    parts_of,
    rank,
    settings_that_differ,
)
from seqloom.train._mcnemar import PairedTests

_VERSION = 2


def values_of(runs: list[Compared], tests: PairedTests) -> dict[str, Any]:
    """Gives what the page shows as plain values; runs are in the order given."""
    chosen = zip(runs, choose_parts(runs), parts_of(runs), strict=True)
    return {
        "version": _VERSION,
        "comparable": are_alike(runs),
        "ranked_by": find_ranking_metric(runs),
        "ranking": [run.name for run in rank(runs)],
        "tests": _tests(tests),
        "settings_that_differ": settings_that_differ(runs),
        "runs": [
            _values(run, name, part)
            | {"beside_best": (it := tests.by_name.get(run.name)) and asdict(it)}
            for run, name, part in chosen
        ],
    }


def _tests(tests: PairedTests) -> dict[str, Any]:
    """Says which test was made, and why of some runs it was not."""
    return {
        "name": "McNemar, exact, two-sided",
        "best": tests.best,
        "pairs": tests.pairs,
        "notes": list(tests.notes),
    }


def _values(run: Compared, name: str | None, part: dict[str, Any]) -> dict[str, Any]:
    """Gives the values of one run, and of the part on which it is compared."""
    found = run.results
    return {
        "name": run.name,
        "folder": run.place,
        "part": name,
        "records": part.get("records"),
        "metrics": part.get("metrics", {}),
        "intervals": part.get("intervals", {}),
        "parameters": found.get("parameters"),
        "epochs": found["epochs"],
        "best_epoch": found.get("best_epoch"),
        "seconds": found["seconds"],
        "settings": run.settings,
        "history": run.history,
    }
