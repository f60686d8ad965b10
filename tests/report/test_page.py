"""Tests that the files of a report are complete, self-contained and written atomically."""

import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest

from seqloom.errors import FileError
from seqloom.report import Confusion, Curve, Report, Scatter, Table, Tile, write_report

FULL_REPORT = Report(
    title="splice <1>",
    lead="Learned from 3 & 4.",
    tiles=(Tile("test accuracy", "96.2 %", note="95.0 to 97.2 %"),),
    notes=("2 sequences stand in both parts.",),
    curves=(Curve("loss", {"training": [0.9, 0.5, 0.4], "validation": [0.8, 0.6, 0.7]}),),
    best_epoch=2,
    confusions=(Confusion("test", ("EI", "N"), [[9, 1], [2, 1234]]),),
    scatters=(Scatter("gc", [0.1, 0.5], [0.2, 0.4]),),
    tables=(Table("Worst mistakes", ("id", "probability"), [("<x>", 0.98765)]),),
    facts={"seed": "0"},
)


class Tags(HTMLParser):
    """Checks that HTML tags are nested, and collects the URLs that a browser would open."""

    def __init__(self):
        super().__init__()
        self.open, self.addresses, self.seen = [], [], set()

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        self.addresses += [v for k, v in attrs if k in {"src", "srcset", "href"}]
        if tag not in {"meta", "img", "source"}:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("run")
    write_report(home, FULL_REPORT)
    return home


@pytest.fixture(scope="module")
def page(folder):
    return (folder / "report.html").read_text("utf-8")


@pytest.fixture(scope="module")
def tags(page):
    parser = Tags()
    parser.feed(page)
    return parser


def test_a_report_writes_the_page_and_its_pictures_only(folder):
    names = ["confusion.svg", "learning-curve.svg", "report.html", "scatter.svg"]
    assert sorted(path.name for path in folder.iterdir()) == names


@pytest.mark.parametrize("name", ["confusion", "learning-curve", "scatter"])
def test_a_picture_is_valid_svg_without_css_variables(folder, name):
    text = (folder / f"{name}.svg").read_text("utf-8")
    assert ET.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"  # noqa: S314 - ours
    assert "var(" not in text


def test_every_html_tag_of_a_report_is_closed(tags):
    assert tags.open == []


def test_the_page_loads_no_other_file(page, tags):
    assert not tags.addresses
    assert not tags.seen & {"script", "link", "iframe", "object"}
    assert not re.search(r"url\(|@import", page)


@pytest.mark.parametrize(
    "text",
    [
        "splice &lt;1&gt;",
        "3 &amp; 4",
        "96.2 %",
        "95.0\N{NO-BREAK SPACE}to\N{NO-BREAK SPACE}97.2\N{NO-BREAK SPACE}%",
        "both parts",
        "&lt;x&gt;",
    ],
)
def test_the_page_shows_every_part_of_the_report(page, text):
    assert text in page


def test_a_report_formats_numbers_for_reading(page):
    assert ">1,234<" in page
    assert ">0.9877<" in page


def test_a_report_needs_only_a_title(tmp_path):
    page = write_report(tmp_path, Report(title="empty"))
    assert "<h1>empty</h1>" in page.read_text("utf-8")


def test_a_report_of_many_classes_and_a_single_epoch_can_be_drawn(tmp_path):
    names = [f"family-{i}" for i in range(14)]
    counts = [[int(i == j) for j in range(14)] for i in range(14)]
    curve = Curve("loss", {"training": [0.5], "validation": [float("nan")]})
    report = Report(
        title="t",
        curves=(curve,),
        best_epoch=1,
        confusions=(Confusion("all", names, counts),),
    )
    assert write_report(tmp_path, report).exists()


def test_a_missing_folder_is_an_error(tmp_path):
    with pytest.raises(FileError, match=r"report\.html"):
        write_report(tmp_path / "none", Report(title="t"))
