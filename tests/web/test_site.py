"""The documentation built by `make docs`, as shown in Chromium."""

import importlib
import io
import re
from base64 import b64decode
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest

from chromium import Page
from web_page import REPOSITORY, needs_browser
from web_server import Server, serving

SITE_FOLDER = REPOSITORY / "site"
NEEDS_BUILT_SITE = pytest.mark.skipif(
    not (SITE_FOLDER / "index.html").exists(), reason="no site: make docs"
)
pytestmark = [NEEDS_BUILT_SITE, needs_browser]

# One documentation page of each kind.
TESTED_PAGES = ("", "tutorial/", "quickstart/", "how-to/embeddings/", "reference/io/")
COLOUR_SCHEMES = ("light", "dark")
# Accessibility rules, from a third-party package.
AXE_PACKAGE = find_spec("axe_playwright_python")
ACCESSIBILITY_SCRIPT = """
axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => violations
  .filter(({ impact }) => ["serious", "critical"].includes(impact))
  .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`)))
"""
EXTERNAL_RESOURCE_PATTERN = re.compile(
    r"<(?:script|img|link|iframe|source)\b[^>]*?\b(?:src|srcset|href)=.?https?:[^>]*>"
)
# A documented module on a reference page, and the anchor of a documented name.
DOCUMENTED_MODULE_PATTERN = re.compile(r"^::: (seqloom\.[a-z_.]+)$", re.MULTILINE)
ANCHOR_PATTERN = re.compile(r" id=(seqloom\.[\w.]+)")
# The element that contains the theme's search dialog.
SEARCH_DIALOG_SCRIPT = "[...document.body.children].find((it) => it.shadowRoot)?.shadowRoot"
# A box that is wider than its container and cannot be scrolled with the keyboard.
COVERED_CODE_SCRIPT = """
[...document.querySelectorAll(".md-typeset pre > code, .md-typeset__scrollwrap")]
  .filter((it) => it.scrollWidth > it.clientWidth && it.tabIndex != 0).length
"""

# Position of the first cell of the first scrollable table after scrolling.
FIRST_CELL_SCRIPT = """
(() => {
  const box = [...document.querySelectorAll(".md-typeset__scrollwrap")]
    .find((it) => it.scrollWidth > it.clientWidth + 50);
  box.scrollLeft = %d;
  return box.querySelector("th").getBoundingClientRect().left;
})()
"""
BUTTON_SCRIPT = """
[...document.querySelectorAll(".md-code__nav")].filter((it) => it.offsetParent).length
"""
PLOT_SCRIPT = """
(() => {
  const { left, top, width, height } =
    document.querySelector("img[src*=_files]").getBoundingClientRect();
  return { x: left + scrollX, y: top + scrollY, width, height, scale: 1 };
})()
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """The site."""
    with serving(SITE_FOLDER) as made:
        yield made


@pytest.mark.parametrize(("scheme", "other"), [COLOUR_SCHEMES, COLOUR_SCHEMES[::-1]])
def test_the_home_page_is_smaller_than_500_kb(
    server: Server, tmp_path: Path, scheme: str, other: str
):
    server.sent.clear()
    with Page(tmp_path, width=1366, dark=scheme == "dark") as page:
        page.open(server.address)
        page.value("document.querySelector('footer').scrollIntoView()")
        page.wait(f"document.querySelector('[src*=report-{scheme}]').complete")
    assert sum(server.sent.values()) < 500_000, server.sent
    assert f"/assets/report-{other}.webp" not in server.sent


def test_no_html_page_is_larger_than_500_kb():
    sizes = {str(file): file.stat().st_size for file in SITE_FOLDER.rglob("*.html")}
    assert {file: size for file, size in sizes.items() if size > 500_000} == {}


def test_no_page_contains_a_warning_or_a_local_path():
    pages = {
        str(file): file.read_text(encoding="utf-8") for file in SITE_FOLDER.rglob("*.html")
    }
    assert [name for name, text in pages.items() if "/ipykernel_" in text] == []


def test_each_public_name_occurs_once_in_the_reference():
    sources = [file.read_text() for file in (REPOSITORY / "docs/reference").glob("*.md")]
    modules = {name for text in sources for name in DOCUMENTED_MODULE_PATTERN.findall(text)}
    names = {
        f"{module}.{name}"
        for module in modules
        for name in getattr(importlib.import_module(module), "__all__", ())
        if f"{module}.{name}" not in modules
    }
    pages = [file.read_text() for file in (SITE_FOLDER / "reference").rglob("index.html")]
    places = Counter(name for page in pages for name in ANCHOR_PATTERN.findall(page))
    assert {name: places[name] for name in names if places[name] != 1} == {}


def test_no_page_requests_another_host(server: Server, tmp_path: Path):
    with Page(tmp_path) as page:
        for path in TESTED_PAGES:
            page.open(server.address + path)
        asked = {it for it in page.requests if not it.startswith("data:")}
    assert all(it.startswith(server.address) for it in asked)


def test_no_page_has_a_resource_of_another_host():
    texts = (file.read_text(encoding="utf-8") for file in SITE_FOLDER.rglob("*.html"))
    assert [
        found for text in texts for found in EXTERNAL_RESOURCE_PATTERN.findall(text)
    ] == []


def test_the_search_finds_a_name_of_the_reference(server: Server, tmp_path: Path):
    with Page(tmp_path) as page:
        page.open(server.address)
        page.value("document.querySelector('.md-search__button').click()")
        page.wait(f"{SEARCH_DIALOG_SCRIPT}?.querySelector('input')")
        page.value(f"{SEARCH_DIALOG_SCRIPT}.querySelector('input').focus()")
        page.ask("Input.insertText", text="reverse_complement")
        page.wait(
            f"{SEARCH_DIALOG_SCRIPT}.querySelector('[role=listbox] a[href*=reference]')"
        )


def test_the_colour_scheme_can_be_switched(server: Server, tmp_path: Path):
    with Page(tmp_path) as page:
        page.open(server.address)
        for scheme in ("default", "slate"):
            page.value("document.querySelector('form label:not([hidden])').click()")
            page.wait(f"document.body.dataset.mdColorScheme == '{scheme}'")


@pytest.mark.parametrize("path", [*TESTED_PAGES, "benchmarks/"])
def test_every_page_fits_a_phone(server: Server, tmp_path: Path, path: str):
    with Page(tmp_path, width=390) as page:
        page.open(server.address + path)
        assert page.value("document.documentElement.scrollWidth") <= 390
        page.wait(f"{COVERED_CODE_SCRIPT} == 0")


def test_the_first_column_of_a_table_stays_visible(server: Server, tmp_path: Path):
    with Page(tmp_path, width=390) as page:
        page.open(server.address + "benchmarks/")
        page.wait("document.querySelectorAll('.md-typeset__scrollwrap').length")
        moved = page.value(FIRST_CELL_SCRIPT % 40), page.value(FIRST_CELL_SCRIPT % 50)
        assert moved[0] == moved[1] >= 0


def test_no_button_covers_code_on_a_phone(server: Server, tmp_path: Path):
    for width in (390, 1366):
        with Page(tmp_path / str(width), width=width) as page:
            page.open(server.address)
            page.wait("document.querySelectorAll('.md-code__nav').length")
            assert bool(page.value(BUTTON_SCRIPT)) == (width > 390)


@pytest.mark.parametrize("scheme", COLOUR_SCHEMES)
def test_plots_have_the_background_of_the_colour_scheme(
    server: Server, tmp_path: Path, scheme: str
):
    with Page(tmp_path, dark=scheme == "dark") as page:
        page.open(server.address + "notebooks/peptides/")
        given = {"clip": page.value(PLOT_SCRIPT), "captureBeyondViewport": True}
        data = page.ask("Page.captureScreenshot", **given)["data"]
    shades = matplotlib.image.imread(io.BytesIO(b64decode(data)))[..., :3]
    assert (np.median(shades) < 0.2) == (scheme == "dark")


@pytest.mark.skipif(
    AXE_PACKAGE is None, reason="no axe: uv pip install --no-deps axe-playwright-python"
)
@pytest.mark.parametrize("scheme", COLOUR_SCHEMES)
@pytest.mark.parametrize("width", [1366, 390])
def test_pages_pass_the_accessibility_checks(
    server: Server, tmp_path: Path, width: int, scheme: str
):
    folder = AXE_PACKAGE.submodule_search_locations[0]
    rules = (Path(folder) / "axe.min.js").read_text(encoding="utf-8")
    with Page(tmp_path, width=width, dark=scheme == "dark") as page:
        for path in TESTED_PAGES:
            page.open(server.address + path)
            page.wait(f"{COVERED_CODE_SCRIPT} == 0")
            page.value(rules + "; 0")
            assert page.value(ACCESSIBILITY_SCRIPT) == [], path
