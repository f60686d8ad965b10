"""The pages of docs/comparisons, and the benchmark of their code."""

from datetime import date
from pathlib import Path
from re import search
from subprocess import CalledProcessError

import pytest
from benchmarks.comparisons import _suite
from benchmarks.comparisons._pages import ComparisonPage, read_pages

COMPARISON_PAGE = """---
tool: NumPy
packages: numpy
lacks: all but reading
---

```python
count = 3  # measured: 40
with open("n.txt", "w") as file:
    file.write(str(count))
```

## Read a number

```python
with open("n.txt") as file:
    theirs = int(file.read())
```

```python
from pathlib import Path

ours = int(Path("n.txt").read_text())
```

```python
assert theirs == ours
```

<!-- begin measured -->
<!-- end measured -->

## What is left
"""


@pytest.fixture
def page(tmp_path: Path) -> ComparisonPage:
    path = tmp_path / "numpy.md"
    path.write_text(COMPARISON_PAGE)
    return ComparisonPage(path)


@pytest.mark.parametrize("page", read_pages(), ids=lambda page: page.path.stem)
def test_each_comparison_has_a_date_and_a_processor(page: ComparisonPage):
    for pair in page.read_tasks():
        if "Not measured yet" in pair.result:
            continue
        when = search(r"On (\S+), both .*Measured on \w.*, seqloom \d", pair.result)
        assert when, f"{page.path.name}: {pair.task} was not measured"
        assert date.fromisoformat(when[1])


def test_the_comparison_index_contains_the_results_of_all_pages():
    text = _suite.index_text(read_pages())
    assert text in _suite.INDEX_PAGE.read_text("utf-8")


def test_benchmarks_use_the_larger_input_of_the_page(page: ComparisonPage):
    assert page.large_input == page.small_input.replace("3  # measured: 40", "40")
    assert page.input_sizes == "`count = 40`"


def test_a_result_is_written_to_the_section_of_its_task(page: ComparisonPage, monkeypatch):
    monkeypatch.setattr(_suite, "ROUNDS", 1)
    _suite.measure_page(page)
    (pair,) = page.read_tasks()
    assert all(pair.seconds)
    assert page.text.replace(pair.result, "") == COMPARISON_PAGE


def test_code_with_different_results_is_not_measured(page: ComparisonPage, monkeypatch):
    page.path.write_text(COMPARISON_PAGE.replace("ours = int(", "ours = 1 + int("))
    with pytest.raises(CalledProcessError):
        _suite.measure_page(page)
    assert page.read_tasks()[0].seconds == ("", "", "")
