"""Read and write the pages of docs/comparisons: the code to measure, and the results.

The front matter of a page has `tool`, `packages` and `lacks`, and `threads` if the number
of threads is fixed. The first block of code creates the input. Each measured section has
three blocks: the code of the tool, the code of seqloom, and a comparison of the results.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib import metadata
from pathlib import Path

PAGES_FOLDER = Path(__file__).parents[2] / "docs/comparisons"
CODE_BLOCK_PATTERN = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Markers around the result of a section.
BEGIN, END = "<!-- begin measured -->\n", "<!-- end measured -->\n"
# A size of the input: the value on the page, and the value for measurements.
SIZE_LINE_PATTERN = re.compile(r"^(\w+) = [\d_]+  # measured: ([\d_]+)$", re.MULTILINE)
SECONDS_PATTERN = re.compile(r"^\| seconds \| (\S+) \| (\S+) \| (\S+) \|$", re.MULTILINE)


@dataclass(frozen=True)
class ComparedTask:
    """Code of one task for both tools, and the comparison of their results."""

    task: str
    theirs: str
    ours: str
    comparison: str
    result: str

    @property
    def seconds(self) -> tuple[str, str, str]:
        """Seconds of the tool, seconds of seqloom, and their ratio."""
        found = SECONDS_PATTERN.search(self.result)
        return (found[1], found[2], found[3]) if found else ("", "", "")


@dataclass(frozen=True)
class ComparisonPage:
    """One page of docs/comparisons."""

    path: Path

    @property
    def text(self) -> str:
        """Text of the page."""
        return self.path.read_text("utf-8")

    @cached_property
    def front_matter(self) -> dict[str, str]:
        """Values of the front matter by name."""
        lines = self.text.split("---\n")[1].splitlines()
        return {name: value.strip() for name, _, value in (x.partition(":") for x in lines)}

    @property
    def tool(self) -> str:
        """Name of the other tool."""
        return self.front_matter["tool"]

    @property
    def index_link(self) -> str:
        """The tool's name, with a link from the index to this page."""
        return f"[{self.tool}]({self.path.name})"

    @property
    def packages(self) -> list[str]:
        """Packages whose versions are reported with the result, beginning with the tool."""
        return self.front_matter["packages"].split()

    @property
    def threads(self) -> str:
        """Number of threads of both tools, or "" for their defaults."""
        return self.front_matter.get("threads", "")

    @property
    def is_runnable(self) -> bool:
        """True if all packages that the page needs are installed."""
        installed = {each.name.lower() for each in metadata.distributions()}
        return installed.issuperset(name.lower() for name in self.packages)

    @cached_property
    def small_input(self) -> str:
        """Code that creates the input for tests."""
        found = CODE_BLOCK_PATTERN.search(self.text)
        assert found, f"{self.path.name} has no block that makes the input"
        return found[1]

    @property
    def large_input(self) -> str:
        """Code that creates the input for measurements."""
        return SIZE_LINE_PATTERN.sub(r"\1 = \2", self.small_input)

    @property
    def input_sizes(self) -> str:
        """Sizes of the input for measurements."""
        return ", ".join(
            f"`{name} = {size}`"
            for name, size in SIZE_LINE_PATTERN.findall(self.small_input)
        )

    def read_tasks(self) -> list[ComparedTask]:
        """Return the measured sections."""
        return [
            _parse_task(section)
            for section in self.text.split("\n## ")[1:]
            if BEGIN in section
        ]

    def write_result(self, task: str, result: str) -> None:
        """Write a result into the section of a task."""
        before, head, rest = self.text.partition(f"\n## {task}\n")
        code, begin, old = rest.partition(BEGIN)
        _, end, after = old.partition(END)
        assert head, f"{self.path.name} has no section {task!r}"
        assert begin, f"{self.path.name}: {task!r} has no place for a result"
        assert end, f"{self.path.name}: the place for the result of {task!r} has no end"
        self.path.write_text(
            f"{before}{head}{code}{begin}\n{result}\n\n{end}{after}", "utf-8"
        )


def read_pages() -> list[ComparisonPage]:
    """Return every page of docs/comparisons except the index."""
    paths = sorted(PAGES_FOLDER.glob("*.md"))
    return [ComparisonPage(path) for path in paths if path.name != "index.md"]


def index_rows(pages: list[ComparisonPage]) -> Iterator[tuple[str, ...]]:
    """Yield a row of the index for each task: tool, task, ratio and both tools' times."""
    for page in pages:
        for pair in page.read_tasks():
            theirs, ours, ratio = pair.seconds
            yield page.index_link, pair.task, ratio or "not measured", theirs, ours


def missing_feature_lines(pages: list[ComparisonPage]) -> Iterator[str]:
    """Yield a line for each tool with the features that seqloom lacks."""
    for page in pages:
        yield f"- {page.index_link}: {page.front_matter['lacks']}."


def _parse_task(section: str) -> ComparedTask:
    """Read a section: its heading, its three blocks and its result."""
    task = section.partition("\n")[0]
    blocks: list[str] = CODE_BLOCK_PATTERN.findall(section)
    count = len(blocks)
    assert count == 3, f"{task!r} has {count} blocks, not theirs, ours and the comparison"
    theirs, ours, comparison = blocks
    result = section.partition(BEGIN)[2].partition(END)[0]
    return ComparedTask(task, theirs, ours, comparison, result)
