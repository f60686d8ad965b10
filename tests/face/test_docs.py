"""Every page is in the navigation, and numbers on the home page are in the tables."""

import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
DOCS_FOLDER = REPOSITORY / "docs"
# A notebook becomes a page after it was executed.
NOTEBOOK_PAGES = {
    f"notebooks/{file.stem}.md" for file in REPOSITORY.glob("notebooks/[!_]*.py")
}
ALL_PAGES = {
    str(file.relative_to(DOCS_FOLDER)) for file in DOCS_FOLDER.rglob("*.md")
} | NOTEBOOK_PAGES
# Matches a row on the home page: a link to a table, our number, the competitor's
# number, and the processor.
BENCHMARK_ROW_PATTERN = re.compile(
    r"^\| \[.*?\]\(benchmarks\.md#(.*?)\) \| (.*?) \| (.*?), .* \| (.*?) \|$", re.MULTILINE
)


def test_each_documentation_page_occurs_once_in_the_navigation():
    listed = re.findall(
        r"^ +- (\S+\.md)$", (REPOSITORY / "mkdocs.yml").read_text(), re.MULTILINE
    )
    assert sorted(listed) == sorted(ALL_PAGES)


@pytest.mark.parametrize("section", ["how-to", "concepts", "reference", "decisions"])
def test_each_documentation_page_is_linked_from_its_section_index(section: str):
    linked = set(
        re.findall(r"\]\((\S+\.md)\)", (DOCS_FOLDER / section / "index.md").read_text())
    )
    assert {f"{section}/{name}" for name in linked} == {
        name for name in ALL_PAGES if name.startswith(f"{section}/")
    } - {f"{section}/index.md"}


def test_each_number_on_the_home_page_is_in_a_benchmark_table():
    tables = (DOCS_FOLDER / "benchmarks.md").read_text()
    rows = BENCHMARK_ROW_PATTERN.findall((DOCS_FOLDER / "index.md").read_text())
    assert len(rows) == 7
    for anchor, ours, theirs, processor in rows:
        table = part_of(tables, anchor, processor)
        for figure in (ours, theirs):
            assert re.search(rf"\b{re.escape(figure.split()[0])}\b", table), (
                anchor,
                figure,
            )


def part_of(page: str, anchor: str, processor: str) -> str:
    """Return the table of one processor in the section with an anchor."""
    sections = re.split(r"^## ", page, flags=re.MULTILINE)
    section = next(it for it in sections if slug(it.splitlines()[0]) == anchor)
    parts = re.split(r"^### ", section, flags=re.MULTILINE)
    return next(it for it in parts if it.startswith(f"{processor}\n"))


def slug(heading: str) -> str:
    """Return the anchor of a heading."""
    return re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-")
