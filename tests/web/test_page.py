"""The browser page in Chromium, with simulated user input."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from chromium import Page
from web_page import (
    DEMO_FASTA,
    DIST_FOLDER,
    REPOSITORY,
    fasta,
    needs_browser,
    needs_page,
    packed,
    records,
)
from web_server import serving

pytestmark = [needs_page, needs_browser]

IS_SCORED_SCRIPT = "document.querySelectorAll('#letters .letter').length > 0"
IS_READY_SCRIPT = "!document.getElementById('score').disabled"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The page on a static file server."""
    with serving(DIST_FOLDER) as server:
        yield server.address


@pytest.fixture
def page(address: str, tmp_path: Path) -> Iterator[Page]:
    """The page with its model loaded."""
    with Page(tmp_path / "profile") as made:
        made.open(address)
        made.wait(IS_READY_SCRIPT)
        yield made


def text(page: Page, selector: str) -> str:
    """Return the visible text of an element."""
    return page.value(f"document.querySelector({selector!r}).innerText")


def click(page: Page, name: str) -> None:
    """Click on the element with an id."""
    page.value(f"document.getElementById({name!r}).click()")


def test_the_web_page_scores_and_explains_its_example(page: Page):
    click(page, "score")
    page.wait(IS_SCORED_SCRIPT)
    assert "8 records" in text(page, "#status")
    assert "Strongest positions for" in text(page, "#strongest")
    assert page.value("document.querySelectorAll('#table tbody tr').length") == 8
    assert not page.messages


def test_the_page_requests_only_its_own_files(page: Page, address: str):
    click(page, "score")
    page.wait(IS_SCORED_SCRIPT)
    asked = {it for it in page.requests if not it.startswith("data:")}
    assert {it.removeprefix(address).split("/")[0] for it in asked} <= {
        "",
        *(file.name for file in DIST_FOLDER.iterdir()),
    }


def test_a_gzip_file_is_scored_in_pages_of_results(page: Page):
    page.choose("#records-file", DEMO_FASTA)
    page.wait(IS_SCORED_SCRIPT)
    assert text(page, "#status") == "1,186 records of test.fa.gz"
    click(page, "after")
    assert text(page, "#shown") == "21 to 40 of 1,186"


def test_the_saved_table_has_a_row_for_each_record(page: Page):
    page.choose("#records-file", DEMO_FASTA)
    page.wait(IS_SCORED_SCRIPT)
    page.value("URL.createObjectURL = (blob) => ((window.saved = blob), 'blob:x')")
    click(page, "save")
    lines = page.value("window.saved.text()").splitlines()
    assert len(lines) == 1187
    assert lines[0] == "id\tEI\tIE\tN"


def test_another_model_can_be_opened(page: Page, tmp_path: Path):
    model = packed(REPOSITORY / "tests/export/data/version_1_lstm", tmp_path / "lstm.zip")
    page.choose("#model-file", Path(model))
    page.wait("document.getElementById('model-name').innerText == 'lstm.zip'")
    assert "any" in text(page, "#facts")
    click(page, "score")
    page.wait(IS_SCORED_SCRIPT)


def test_an_error_message_disappears_after_the_next_click(page: Page, tmp_path: Path):
    page.choose("#model-file", Path(fasta(tmp_path / "no.zip", records(1))))
    page.wait("!document.getElementById('error').hidden")
    assert "zip" in text(page, "#error")
    page.choose("#model-file", DIST_FOLDER / "splice.seqloom.zip")
    page.wait("document.getElementById('error').hidden")


def test_pasted_residues_without_a_header_are_a_record(page: Page):
    letters = records(1)[0][1]
    page.value(f"document.getElementById('pasted').value = {letters!r}")
    click(page, "score")
    page.wait(IS_SCORED_SCRIPT)
    assert text(page, "#table tbody th") == "pasted"


def test_a_record_can_be_selected_with_the_keyboard(page: Page):
    click(page, "score")
    page.wait(IS_SCORED_SCRIPT)
    page.value("document.querySelectorAll('#table tbody button')[2].focus()")
    page.press("Enter", 13)
    third = page.value("document.querySelectorAll('#table tbody th')[2].innerText")
    page.wait(f"document.getElementById('look-status').innerText.includes({third!r})")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_web_page_fits_a_phone(address: str, tmp_path: Path, scheme: str):
    with Page(tmp_path / "profile", width=390, dark=scheme == "dark") as page:
        page.open(address)
        page.wait(IS_READY_SCRIPT)
        click(page, "score")
        page.wait(IS_SCORED_SCRIPT)
        assert page.value("document.documentElement.scrollWidth") <= 390
        page.picture(tmp_path / "phone.png")
        assert (tmp_path / "phone.png").stat().st_size > 20_000


def test_every_form_field_has_a_label(page: Page):
    unlabelled = (
        "[...document.querySelectorAll('input, textarea, select, progress')]"
        ".filter((it) => !it.labels?.length && !it.ariaLabel).map((it) => it.id)"
    )
    assert page.value(unlabelled) == []
