"""Run each task of docs/comparisons in the other tool and in seqloom, on the same input."""

import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks._measure import full_or_quick, is_quick_run, run_module
from benchmarks._page import describe_machine, markdown_table
from benchmarks.comparisons._pages import (
    BEGIN,
    END,
    PAGES_FOLDER,
    ComparedTask,
    ComparisonPage,
    index_rows,
    missing_feature_lines,
    read_pages,
)

ROUNDS = full_or_quick(5, 1)
INDEX_PAGE = PAGES_FOLDER / "index.md"
# A phone shows only the first columns, so the ratio is in one of these columns.
INDEX_COLUMNS = ("tool", "task", "tool / seqloom", "tool, s", "seqloom, s")
MISSING_FEATURES_HEADING = "Features of each tool that seqloom does not have:"


def main(names: Sequence[str] = ()) -> None:
    """Measure the named pages, or all pages whose tools are installed."""
    pages = read_pages()
    for page in pages:
        if page.path.stem in (names or [page.path.stem]):
            measure_page(page)
    if not is_quick_run():
        write_index(pages)


def write_index(pages: list[ComparisonPage]) -> None:
    """Write the results of all pages into the index."""
    before, begin, rest = INDEX_PAGE.read_text("utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    INDEX_PAGE.write_text(f"{before}{begin}\n{index_text(pages)}\n\n{end}{after}", "utf-8")


def index_text(pages: list[ComparisonPage]) -> str:
    """Return the table of the index page, and the list of missing features."""
    rows = markdown_table(INDEX_COLUMNS, index_rows(pages), texts=("task",))
    lacks = "\n".join(missing_feature_lines(pages))
    return f"{rows}\n\n{MISSING_FEATURES_HEADING}\n\n{lacks}"


def measure_page(page: ComparisonPage) -> None:
    """Measure each task of a page; a quick run only prints the times of the first task."""
    if not page.is_runnable:
        print(f"{page.path.name} is skipped: {', '.join(page.packages)} must be installed")
        return
    with TemporaryDirectory() as folder:
        inputs = _make_inputs(page, Path(folder))
        for pair in page.read_tasks()[: full_or_quick(None, 1)]:
            arguments = (page.threads, *inputs)
            seconds = _measure_task(pair, Path(folder), arguments)
            if not is_quick_run():
                page.write_result(pair.task, _result_sentence(page, seconds))
            print(page.tool, pair.task, *seconds)


def _make_inputs(page: ComparisonPage, folder: Path) -> tuple[str, str]:
    """Create the small and the large input in two folders and return their paths."""
    codes = {"small": page.small_input, "large": page.large_input}
    for name, code in codes.items():
        (folder / name).mkdir()
        subprocess.run([sys.executable, "-c", code], check=True, cwd=folder / name)
    return str(folder / "small"), str(folder / "large")


def _measure_task(
    pair: ComparedTask, folder: Path, arguments: Sequence[str]
) -> tuple[float, float]:
    """Compare the results of both tools, then return the median times of each tool."""
    codes = {"theirs": pair.theirs, "ours": pair.ours, "comparison": pair.comparison}
    for name, code in codes.items():
        (folder / f"{name}.py").write_text(code, "utf-8")
    run = partial(run_module, "benchmarks.comparisons._worker", *arguments)
    run(*(str(folder / f"{name}.py") for name in codes))
    files = [str(folder / f"{name}.py") for name in ("theirs", "ours")]
    rounds = [tuple(run(file) for file in files) for _ in range(ROUNDS)]
    theirs, ours = zip(*rounds, strict=True)
    return median(theirs), median(ours)


def _result_sentence(page: ComparisonPage, seconds: tuple[float, float]) -> str:
    """Return the sentence that reports a result on the page."""
    theirs, ours = seconds
    head = ("", page.tool, "seqloom", f"{page.tool} / seqloom")
    row = ("seconds", f"{theirs:.3f}", f"{ours:.3f}", f"{theirs / ours:.2f}")
    when = f"{datetime.now(UTC):%Y-%m-%d}"
    threads = f" and `threads = {page.threads}`" if page.threads else ""
    return (
        f"{markdown_table(head, [row])}\n\nOn {when}, both tools ran with "
        f"{page.input_sizes}{threads}. "
        f"{describe_machine(*page.packages, 'numpy', 'seqloom')}"
    )
