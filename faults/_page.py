"""Writes what was tried into docs/reliability.md."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks._page import table
from benchmarks._processor import name_processor

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from faults._all import Result

PAGE = Path(__file__).parents[1] / "docs/reliability.md"


def publish(results: Sequence[Result], seconds: float, *, jobs: int) -> None:
    """Replace the tables of faults."""
    replace_tables(_tables(results, seconds, jobs=jobs))


def replace_tables(tables: Mapping[str, str]) -> None:
    """Replace tables of the page; each stands between two marks with its name."""
    text = PAGE.read_text("utf-8")
    for name, content in tables.items():
        marked = rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)"
        text, found = re.subn(marked, rf"\1\n{content}\n\n\2", text, flags=re.DOTALL)
        assert found == 1, f"{PAGE.name} has no place for {name}"
    PAGE.write_text(text, "utf-8")


def _tables(results: Sequence[Result], seconds: float, *, jobs: int) -> dict[str, str]:
    """Make a table for each kind."""
    by_kind = {
        kind: {result.name: result for result in results if result.kind == kind}
        for kind in ("calls", "crash", "read", "damage", "rival")
    }
    calls, crash, read, damage, rival = by_kind.values()
    writers = [
        (name, f"{one.tried:,}", f"{crash[name].tried:,}", _lost(one, crash[name]))
        for name, one in calls.items()
        if name in crash
    ]
    ours = [it for it in results if it.kind != "rival"]
    tried, wrong = sum(it.tried for it in ours), sum(len(it.wrong) for it in ours)
    return {
        "sum": f"The last run tried **{tried:,} faults in {seconds / 60:.0f} minutes; "
        f"{wrong} of them went wrong**, with {jobs} processes on an {name_processor()}.",
        "writers": table(
            ("what is written", "calls that fail", "power cuts", "went wrong"), writers
        ),
        "readers": table(
            ("what is read", "calls that fail", "cuts and flipped bits", "went wrong"),
            [
                (name, f"{it.tried:,}", f"{damage[name].tried:,}", _lost(it, damage[name]))
                for name, it in read.items()
            ],
        ),
        "rivals": table(
            ("what writes", "faults", "neither the old file nor the new one"),
            [(name, f"{it.tried:,}", _lost(it)) for name, it in rival.items()],
        ),
    }


def _lost(*results: Result) -> str:
    """Count faults after which something was wrong."""
    return f"{sum(len(result.wrong) for result in results):,}"
