"""``seqloom check`` prints a table or JSON, and writes an HTML page."""

import json
import random

import pytest


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A genome, and intervals of which one overlaps and one is a copy."""
    folder = tmp_path_factory.mktemp("check")
    bases = "".join(random.Random(2).choices("ACGT", k=1000))  # noqa: S311 - a test
    text = f">chr1\n{bases}\n>chr2\n{bases[:100]}{bases[::-1]}\n"
    (folder / "g.fa").write_text(text)
    (folder / "train.bed").write_text("chr1\t0\t100\tx\nchr1\t200\t300\ty\n")
    (folder / "valid.bed").write_text(
        "chr1\t290\t390\tx\nchr2\t0\t100\tx\nchr2\t500\t600\ty\n"
    )
    return folder / "train.bed", folder / "valid.bed", "--genome", folder / "g.fa"


def test_check_prints_the_leaks_and_both_sets(call, files):
    said = call("check", *files, "--label-column", "name")
    assert (said.code, said.err) == (0, "")
    lines = [line.strip() for line in said.out.splitlines()]
    assert lines[0] == "1 of 3 validation intervals (33.3 %) overlap training intervals"
    assert lines[1].startswith("1 more (33.3 %) share at least a quarter of their 12-mers")
    assert lines[2] == "examples: chr1:290-390, chr2:0-100"
    rows = [line.split() for line in lines]
    assert ["intervals", "2", "3"] in rows
    assert ["x", "1", "2"] in rows


def test_json_has_the_numbers(call, files):
    said = call("check", *files, "--json")
    found = json.loads(said.out)
    assert (found["overlapping"], found["homologous"]) == (1, 1)
    assert found["train"]["intervals"] == 2
    assert found["class_distance"] is None


def test_the_page_is_replaced_only_with_the_option_overwrite(call, files, tmp_path):
    page = tmp_path / "check.html"
    assert call("check", *files, "--out", page).out.endswith(f"page   {page}\n")
    assert "chr2:0-100" in page.read_text()
    again = call("check", *files, "--out", page)
    assert (again.code, "--overwrite replaces it" in again.err) == (2, True)
    assert call("check", *files, "--out", page, "--overwrite").code == 0


def test_strict_fails_if_there_is_a_leak(call, files):
    said = call("check", *files, "--strict")
    assert said.code == 2
    assert said.err.startswith("error: 1 of 3 validation intervals (33.3 %) overlap")
    train, _, *genome = files
    other = train.with_name("other.bed")
    other.write_text("chr2\t500\t600\n")
    assert call("check", train, other, *genome, "--strict").code == 0


def test_the_length_of_the_model_is_an_option(call, files):
    said = call("check", *files, "--length", 20, "--json")
    assert json.loads(said.out)["overlapping"] == 0
