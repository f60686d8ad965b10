"""Run each task of docs/comparisons in the other tool and in seqloom, on the same input."""

import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks._measure import is_quick, pick, run_module
from benchmarks._page import machine, table
from benchmarks.comparisons._pages import (
    BEGIN,
    END,
    HOME,
    Page,
    Pair,
    index_lacks,
    index_rows,
    read_pages,
)

ROUNDS = pick(5, 1)
INDEX = HOME / "index.md"
# A phone shows the first columns, so the ratio is one of them.
HEAD = ("tool", "task", "tool / seqloom", "tool, s", "seqloom, s")
LACKS = "Features of each tool that seqloom does not have:"


def main(names: Sequence[str] = ()) -> None:
    """Measure the named pages, or all pages whose tools are installed."""
    pages = read_pages()
    for page in pages:
        if page.path.stem in (names or [page.path.stem]):
            measure_page(page)
    if not is_quick():
        write_index(pages)


def write_index(pages: list[Page]) -> None:
    """Write the results of all pages into the index."""
    before, begin, rest = INDEX.read_text("utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    INDEX.write_text(f"{before}{begin}\n{index_text(pages)}\n\n{end}{after}", "utf-8")


def index_text(pages: list[Page]) -> str:
    """Return the table of the index page, and the list of missing features."""
    rows = table(HEAD, index_rows(pages), texts=("task",))
    lacks = "\n".join(index_lacks(pages))
    return f"{rows}\n\n{LACKS}\n\n{lacks}"


def measure_page(page: Page) -> None:
    """Measure each task of a page; a quick run only prints the times of the first task."""
    if not page.is_runnable:
        print(f"{page.path.name} is skipped: {', '.join(page.packages)} must be installed")
        return
    with TemporaryDirectory() as folder:
        inputs = _make_inputs(page, Path(folder))
        for pair in page.pairs()[: pick(None, 1)]:
            arguments = (page.threads, *inputs)
            seconds = _measure(pair, Path(folder), arguments)
            if not is_quick():
                page.write(pair.task, _result(page, seconds))
            print(page.tool, pair.task, *seconds)


def _make_inputs(page: Page, folder: Path) -> tuple[str, str]:
    """Create the small and the large input in two folders and return their paths."""
    codes = {"small": page.small_input, "large": page.large_input}
    for name, code in codes.items():
        (folder / name).mkdir()
        subprocess.run([sys.executable, "-c", code], check=True, cwd=folder / name)
    return str(folder / "small"), str(folder / "large")


def _measure(pair: Pair, folder: Path, arguments: Sequence[str]) -> tuple[float, float]:
    """Compare the results of both tools, then return the median times of each."""
    codes = {"theirs": pair.theirs, "ours": pair.ours, "comparison": pair.comparison}
    for name, code in codes.items():
        (folder / f"{name}.py").write_text(code, "utf-8")
    run = partial(run_module, "benchmarks.comparisons._worker", *arguments)
    run(*(str(folder / f"{name}.py") for name in codes))
    files = [str(folder / f"{name}.py") for name in ("theirs", "ours")]
    rounds = [tuple(run(file) for file in files) for _ in range(ROUNDS)]
    theirs, ours = zip(*rounds, strict=True)
    return median(theirs), median(ours)


def _result(page: Page, seconds: tuple[float, float]) -> str:
    """Return the sentence that reports a result on the page."""
    theirs, ours = seconds
    head = ("", page.tool, "seqloom", f"{page.tool} / seqloom")
    row = ("seconds", f"{theirs:.3f}", f"{ours:.3f}", f"{theirs / ours:.2f}")
    when = f"{datetime.now(UTC):%Y-%m-%d}"
    threads = f" and `threads = {page.threads}`" if page.threads else ""
    return (
        f"{table(head, [row])}\n\nOn {when}, both tools ran with {page.sizes}"
        f"{threads}. "
        f"{machine(*page.packages, 'numpy', 'seqloom')}"
    )
