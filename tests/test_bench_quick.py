"""Quick benchmark runs, and the comparison with an older commit."""

from collections.abc import Callable

import pytest
from benchmarks import _compare_commits, _page
from benchmarks._measure import QUICK_RUN_VARIABLE, full_or_quick

EMPTY_BENCHMARK_TABLE = "<!-- begin demo -->\n<!-- end demo -->\n"


@pytest.fixture
def page(tmp_path, monkeypatch):
    path = tmp_path / "benchmarks.md"
    path.write_text(EMPTY_BENCHMARK_TABLE)
    monkeypatch.setattr(_page, "BENCHMARKS_PAGE", path)
    monkeypatch.delenv(QUICK_RUN_VARIABLE, raising=False)
    return path


def test_a_quick_benchmark_prints_its_table_and_writes_no_page(page, monkeypatch, capsys):
    monkeypatch.setenv(QUICK_RUN_VARIABLE, "1")
    _page.publish_section("demo", "the table")
    assert "the table" in capsys.readouterr().out
    assert page.read_text() == EMPTY_BENCHMARK_TABLE


def test_a_full_benchmark_writes_the_page(page):
    _page.publish_section("demo", "the table")
    assert "the table" in page.read_text()


def test_the_benchmark_page_shows_the_extreme_ratios_of_a_long_table(page):
    page.with_suffix("").mkdir()
    rows = [(f"case {number}", f"**{2.0 ** (number - 25)}**") for number in range(51)]
    _page.publish_section("demo", _page.markdown_table(["case", "ratio"], rows))
    text = page.read_text()
    assert "case 0 " in text
    assert "case 50 " in text
    assert "case 25 " not in text
    assert "geometric mean of 51 cases | **1.00**" in text
    file = next(page.with_suffix("").iterdir())
    assert f"({page.stem}/{file.name})" in text
    assert len(file.read_text().splitlines()) == 52


def test_a_second_run_on_the_main_processor_replaces_the_rows_of_the_first(page):
    page.with_suffix("").mkdir()
    for row, kind in [("old", "one"), ("other", "two"), ("new", "one"), ("last", "two")]:
        _page.publish_section(
            "demo", f"the {row} row\n\nthe time", hidden="time", kind=kind
        )
    text = page.read_text()
    assert [it for it in ("old", "other", "new", "last") if f"the {it} row" in text] == [
        "new"
    ]
    assert text.count("[two](benchmarks/demo-two.csv)") == 1
    assert (page.with_suffix("") / "demo-two.csv").read_text() == "the last row\nthe time\n"


def test_a_ratio_rounded_to_zero_counts_as_half_of_the_last_digit(page):
    rows = [
        ("case 0", "**0.00**"),
        *[(f"case {number}", "**0.50**") for number in range(50)],
    ]
    short = _page.shorten_tables(_page.markdown_table(["case", "ratio"], rows))
    mean = (0.005 * 0.5**50) ** (1 / 51)
    assert f"geometric mean of 51 cases (0.00 as 0.005) | **{mean:.2f}**" in short


def test_the_benchmark_page_shows_selected_rows_and_the_notes_once(page):
    page.with_suffix("").mkdir()
    rows = _page.markdown_table(["case", "ms"], [("small", 1), ("large", 2)])
    for kind in ("one", "two"):
        _page.publish_section("demo", rows, notes="the notes", shown="large", kind=kind)
    text = page.read_text()
    assert text.count("the notes") == 1
    assert text.count("| large | 2 |") == 1
    assert "Also measured on [two](benchmarks/demo-two.csv)." in text
    assert "small" not in text
    assert all("small,1" in file.read_text() for file in page.with_suffix("").iterdir())


@pytest.mark.parametrize(("value", "size"), [("1", 3), ("", 5)])
def test_a_quick_benchmark_uses_smaller_inputs(value, size, monkeypatch):
    monkeypatch.setenv(QUICK_RUN_VARIABLE, value)
    assert full_or_quick(5, 3) == size


def test_a_comparison_contains_medians_their_ratio_and_the_larger_spread():
    # The quartiles of 1 to 5 are 2 and 4; their difference is divided by the median, 3.
    found = _compare_commits.compare_times([2, 2, 2, 2, 2], [1, 2, 3, 4, 5])
    assert (found.old, found.new, found.ratio) == (2, 3, 1.5)
    assert found.spread == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("new", "verdict"),
    [(1.02, ""), (1.04, "**slower**"), (0.98, ""), (0.96, "faster")],
)
def test_benchmark_differences_beyond_three_percent_are_marked(new, verdict):
    assert _compare_commits.compare_times([1.0] * 7, [new] * 7).verdict == verdict


def test_a_benchmark_ratio_within_the_spread_is_not_marked():
    # The spread is 0.2 / 1, so a ratio above 1.23 is marked.
    spread = [0.8, 0.9, 0.9, 1.0, 1.1, 1.1, 1.2]
    assert _compare_commits.compare_times(spread, [1.22] * 7).verdict == ""
    assert _compare_commits.compare_times(spread, [1.24] * 7).verdict == "**slower**"


def test_a_case_that_fails_in_one_package_is_reported_but_not_compared():
    old = [{"one": 1.0, "two": "TypeError: no such option"}] * 7
    new = [{"one": 0.5, "two": 2.0}] * 7
    _, _, one, two, mean = _compare_commits.comparison_table(old, new).splitlines()
    assert one == "| one | 1000 | 500 | 0.500 | 0.0 % | faster |"
    assert two == "| two | failed: TypeError: no such option |  |  |  |  |"
    assert mean.startswith("| geometric mean |  |  | 0.500 |")


def test_benchmark_cases_are_timed_separately_and_failures_keep_their_message(monkeypatch):
    monkeypatch.setattr(_compare_commits, "SECONDS", 0.0)
    calls: list[str] = []

    def prepare(name: str) -> Callable[[], object]:
        if name == "bad":
            raise AttributeError("no attribute 'bad'")
        return lambda: calls.append(name)

    cases = [(name, lambda name=name: prepare(name)) for name in ("good", "bad", "last")]
    times = dict(_compare_commits.time_cases(cases))
    assert times["bad"] == "AttributeError: no attribute 'bad'"
    assert calls == ["good"] * (1 + _compare_commits.CALLS) + ["last"] * (
        1 + _compare_commits.CALLS
    )
    assert isinstance(times["last"], float)
