"""Tests that write attributions as tables and as HTML pages."""

import io
import re

import numpy as np
import pandas as pd
import pytest

import chromium
from seqloom.errors import ArgumentError, FileError
from seqloom.infer import Attributions

HOSTILE_IDS = ["<script>alert(1)</script>", "\x1b[31mred", "\u202eab", "x" * 300]


def make_attributions(count=1, *, text="ACG", weights=None, ids=None, **options):
    """Attributions of a few records with equal weights."""
    weights = np.array([0.5, 0.0, -1 / 3], np.float32) if weights is None else weights
    ids = ids or [f"r{number}" for number in range(count)]
    return Attributions(
        ids=ids,
        sequences=[text] * count,
        targets=["yes"] * count,
        scores=np.full(count, 2.0),
        weights=[weights] * count,
        **options,
    )


MUTATION_WEIGHTS = np.array([[0, -1, -2, -3], [1, 0, 1, 1], [4, 0, 0, -1]], np.float32)


def page_of(found, folder, **options):
    found.to_html(folder / "page.html", **options)
    return (folder / "page.html").read_text()


def test_the_attribution_table_has_a_row_for_each_residue(tmp_path):
    make_attributions().to_tsv(tmp_path / "t.tsv")
    head, *rows = [
        line.split("\t") for line in (tmp_path / "t.tsv").read_text().splitlines()
    ]
    assert head == ["id", "target", "position", "letter", "weight"]
    assert [row[:4] for row in rows] == [["r0", "yes", str(i), "ACG"[i]] for i in range(3)]
    read = np.array([row[4] for row in rows], np.float32)
    np.testing.assert_array_equal(read, make_attributions().weights[0])


def test_the_mutation_table_has_a_column_for_each_new_residue():
    file = io.StringIO()
    make_attributions(weights=MUTATION_WEIGHTS, letters="ACGT").to_tsv(file)
    head, first, *_ = file.getvalue().splitlines()
    assert head.split("\t")[3:] == ["letter", "A", "C", "G", "T"]
    assert first.split("\t")[3:] == ["A", "0.0", "-1.0", "-2.0", "-3.0"]


def test_by_letter_returns_the_mean_decrease_over_mutations_of_a_residue():
    found = make_attributions(
        text="ACN", weights=MUTATION_WEIGHTS, letters="ACGT"
    ).by_letter()[0]
    np.testing.assert_allclose(found, [2, -1, -3 / 4])  # N is not one of the four bases


def test_an_attribution_page_shows_each_sequence(tmp_path):
    page = page_of(make_attributions(2), tmp_path)
    assert re.findall(r"<h3>(.*?)</h3>", page) == ["r0: yes (88.1 %)", "r1: yes (88.1 %)"]
    spans = re.findall(r"<b>0</b>(.*?)</span>", page)
    assert [re.sub("<.*?>", "", it) for it in spans] == ["ACG", "ACG"]
    assert spans[0] == '<i class="up4">A</i>C<i class="down3">G</i>'


def test_an_attribution_page_reports_the_number_of_omitted_sequences(tmp_path):
    page = page_of(make_attributions(7), tmp_path, most=5)
    assert page.count("<h3>") == 5
    assert "the first 5 of 7 sequences, without the other 2" in page


def test_a_complete_attribution_page_mentions_no_omitted_sequences(tmp_path):
    assert "without the other" not in page_of(make_attributions(7), tmp_path)


def test_an_attribution_page_lists_the_strongest_mutations(tmp_path):
    page = page_of(make_attributions(weights=MUTATION_WEIGHTS, letters="ACGT"), tmp_path)
    cells = re.findall(r"<tr><td>r0</td>.*?>(\d)</td><td>(.*?)</td>.*?>(.*?)</td>", page)
    expected = [("2", "G to A", "4.0000"), ("0", "A to T", "-3.0000")]
    assert cells[:2] == expected
    assert len(cells) == 8  # mutations without an effect are not listed


def test_a_page_shows_the_strongest_range_of_a_long_sequence(tmp_path):
    weights = np.zeros(2000)
    weights[1500] = 1
    page = page_of(make_attributions(text="ACGT" * 500, weights=weights), tmp_path)
    first, stop = map(
        int,
        re.search(r"residues ([\d,]+) to ([\d,]+) of 2,000", page)
        .expand(r"\1 \2")
        .replace(",", "")
        .split(),
    )
    assert first <= 1500 <= stop
    assert stop - first == 599


@pytest.mark.parametrize("task", ["classify", "multilabel", "regress"])
def test_an_attribution_page_of_a_regression_shows_no_probability(tmp_path, task):
    page = page_of(make_attributions(task=task), tmp_path)
    assert ("r0: yes (88.1 %)" in page) == (task != "regress")


@pytest.mark.parametrize("name", HOSTILE_IDS)
def test_an_attribution_page_escapes_markup_in_an_id(tmp_path, name):
    page = page_of(make_attributions(ids=[name]), tmp_path)
    assert "<script" not in page
    assert not {"\x1b", "\u202e"} & set(page)


def test_a_failed_write_of_attributions_leaves_no_file(tmp_path):
    with pytest.raises(FileError):
        make_attributions().to_tsv(tmp_path / "none" / "t.tsv")
    with pytest.raises(FileError):
        make_attributions().to_html(tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_sequence_limit_of_an_attribution_page_must_be_an_int(tmp_path):
    with pytest.raises(ArgumentError, match="most must be an integer of at least 1"):
        make_attributions().to_html(tmp_path / "page.html", most=0)


@pytest.mark.skipif(not chromium.find(), reason="no Chromium")
@pytest.mark.parametrize("width", [390, 1366])
def test_an_attribution_page_fits_phones_and_loads_no_other_file(tmp_path, width):
    weights = np.random.default_rng(0).normal(size=(90, 4))
    found = make_attributions(3, text="ACGTTGCATC" * 9, weights=weights, letters="ACGT")
    found.to_html(tmp_path / "page.html", most=2)
    with chromium.Page(tmp_path / "browser", width=width) as page:
        page.open((tmp_path / "page.html").as_uri())
        assert page.value("document.documentElement.scrollWidth") <= width
        assert (page.messages, len(page.requests)) == ([], 1)


@pytest.mark.parametrize("options", [{}, {"weights": MUTATION_WEIGHTS, "letters": "ACGT"}])
def test_attribution_tables_in_all_formats_contain_equal_values(tmp_path, options):
    found = make_attributions(2, **options)
    for name in ("t.tsv", "t.csv", "t.parquet"):
        found.save(tmp_path / name)
    table = pd.read_csv(tmp_path / "t.tsv", sep="\t", keep_default_na=False)
    assert table["letter"].tolist() == list("ACGACG")
    pd.testing.assert_frame_equal(
        pd.read_csv(tmp_path / "t.csv", keep_default_na=False), table
    )
    pd.testing.assert_frame_equal(
        pd.read_parquet(tmp_path / "t.parquet"), table, check_dtype=False
    )
