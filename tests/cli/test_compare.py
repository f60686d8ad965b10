"""``seqloom compare``: the table in the terminal, and the page."""

import shutil

import pytest


@pytest.fixture
def two(trained, tmp_path):
    """Two folders of one run."""
    for name in ("one", "two"):
        shutil.copytree(trained, tmp_path / name)
    return tmp_path / "one", tmp_path / "two"


def test_prints_a_column_for_each_run(call, two):
    said = call("compare", *two)
    assert (said.code, said.err) == (0, "")
    assert said.out.split("\n")[1].split() == ["results", "one", "two"]
    assert " accuracy " in said.out
    assert "Metrics on the test part." in said.out
    assert "not the same records" not in said.out


def test_writes_the_page_and_says_where(call, two, tmp_path):
    said = call("compare", *two, "--out", tmp_path / "c.html")
    assert said.out.endswith(f"page   {tmp_path / 'c.html'}\n")
    assert "2 runs compared" in (tmp_path / "c.html").read_text("utf-8")


def test_replaces_a_page_only_if_asked(call, two, tmp_path):
    (tmp_path / "c.html").write_text("mine")
    said = call("compare", *two, "--out", tmp_path / "c.html")
    assert (said.code, (tmp_path / "c.html").read_text()) == (2, "mine")
    assert "--overwrite replaces it" in said.err
    words = ["--out", tmp_path / "c.html", "--overwrite"]
    assert call("compare", *two, *words).code == 0


def test_a_folder_that_is_no_run_is_named_with_a_remedy(call, two, tmp_path):
    said = call("compare", two[0], tmp_path)
    assert said.code == 2
    assert f"{tmp_path}: no config.json in it; expected a run folder" in said.err
    assert "seqloom train --out" in said.err


def test_one_run_is_not_enough(call, two):
    said = call("compare", two[0])
    assert said.code == 2
    assert "as in seqloom compare runs/a runs/b" in said.err


def test_one_folder_stands_for_the_runs_in_it(call, two):
    assert call("compare", two[0].parent).out == call("compare", *two).out
