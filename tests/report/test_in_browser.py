"""Tests that reports in Chromium fit the screen, are legible, and load no other file."""

import functools
import http.server
import shutil
import signal
import threading
from typing import Any

import numpy as np
import pytest

import chromium
import seqloom as sl
from seqloom.report import (
    AllelePair,
    Confusion,
    Curve,
    Letters,
    Logo,
    MarkedSequence,
    Report,
    Scatter,
    Section,
    make_page,
)
from seqloom.train._probabilities import calibration_section, curve_section

pytestmark = pytest.mark.skipif(not chromium.find(), reason="no Chromium")
# Size of the smallest legible text on a phone, in pixels.
MIN_FONT_PIXELS = 9
RUN_COUNT = 8
TEXT_SELECTOR = "svg text:not(.letter), td, p, li, span, b"
FONT_SIZES_SCRIPT = f"""[...document.querySelectorAll('{TEXT_SELECTOR}')].map(it => {{
    const own = parseFloat(getComputedStyle(it).fontSize);
    const place = it.getScreenCTM ? it.getScreenCTM() : {{a: 1, b: 0}};
    return own * Math.hypot(place.a, place.b);
}})"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A file server that prints nothing."""

    def log_message(self, format, *args):  # noqa: A002
        """Suppress the log of requests."""


def full():
    """A report with every section."""
    rng = np.random.default_rng(0)
    labels = np.eye(3)[rng.integers(0, 3, 90)]
    scores = rng.dirichlet([1] * 3, 90) * 0.3 + labels * 0.7
    names = ("EI", "IE", "a-class-with-a-long-name")
    letters = "".join(rng.choice([*"ACGT"], 60))
    marked = MarkedSequence("x" * 300, letters, rng.normal(size=60))
    alleles = AllelePair(
        title="alleles",
        captions=("reference", "alternative"),
        letters=(letters, letters[:30] + "-" + letters[31:]),
        values=(rng.normal(size=60), rng.normal(size=60)),
        positions=range(60),
    )
    sections: Any = (
        curve_section(labels, scores, classes=names, name="test"),
        calibration_section(labels.ravel(), scores.ravel(), name="test"),
        Section(title="L", drawings=(Letters([marked], toward="up", away="down"),)),
        Section(title="Logo", drawings=(Logo("t", "ACGT", rng.normal(size=(60, 4))),)),
        Section(title="Alleles", drawings=(alleles,)),
    )
    return Report(
        title="everything",
        lead="A sentence.",
        curves=(
            Curve("loss", {"training": [0.9, 0.5, 0.4]}),
            Curve("r2", {"v": [0, 1, 1]}),
        ),
        best_epoch=2,
        confusions=(Confusion("test", names, [[9, 1, 0], [2, 12, 3], [0, 1, 4]]),),
        scatters=(Scatter("gc", rng.normal(size=90), rng.normal(size=90)),),
        sections=sections,
        facts={"network": "N(" + "widths=(32, 32), " * 9 + ")"},
    )


# Number of lines that each interval in a table, such as "(0.93 to 0.97)", occupies.
CELL_LINES_SCRIPT = """[...document.querySelectorAll("td")]
  .filter((it) => /\\sto\\s\\S+\\)$/u.test(it.innerText))
  .map(({ firstChild: text }) => {
    const range = document.createRange();
    range.setStart(text, text.data.indexOf("("));
    range.setEnd(text, text.data.length);
    return range.getClientRects().length;
  })"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A report, and a comparison of eight runs of a small network."""
    home = tmp_path_factory.mktemp("pages")
    (home / "report.html").write_bytes(make_page(full()))
    (home / "a.fa").write_text("".join(f">{i}\n{'ACGT'[i % 4] * 8}\n" for i in range(24)))
    labels = {str(i): ("no", "yes")[i % 2] for i in range(24)}
    encoder = sl.encode.OneHot("dna")
    data = sl.data.SequenceDataset(home / "a.fa", labels=labels, encoder=encoder)
    config = sl.models.SequenceCNNConfig(channels=4, outputs=2, widths=(4,))
    sl.train.fit(config, data, data, epochs=3, out=home / "run")
    for seed in range(RUN_COUNT):
        shutil.copytree(home / "run", home / f"runs/{'a-long-name-' * 4}seed-{seed}")
    sl.train.compare(home / "runs", out=home / "compare.html")
    return home


@pytest.fixture(scope="module")
def address(folder):
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(params=[("report", True), ("compare", False)], ids=["report", "compare"])
def page(request, address, tmp_path):
    """A browser page with the size of a phone's screen."""
    name, dark = request.param
    with chromium.Page(tmp_path / "profile", width=390, dark=dark) as made:
        made.open(f"{address}/{name}.html")
        yield made


def test_a_page_fits_a_phone_loads_no_other_file_and_is_legible(page):
    assert page.value("document.documentElement.scrollWidth") == 390
    fetched = {url.rsplit("/", 1)[1] for url in page.requests if url.startswith("http")}
    assert fetched - {"favicon.ico"} in ({"report.html"}, {"compare.html"})
    assert [it for it in page.messages if "favicon" not in it] == []
    assert min(page.value(FONT_SIZES_SCRIPT)) >= MIN_FONT_PIXELS


def test_an_interval_is_not_broken_over_two_lines(page):
    assert set(page.value(CELL_LINES_SCRIPT)) == {1}


def test_scrollable_boxes_can_be_reached_with_the_keyboard(page):
    moved = (
        "[...document.querySelectorAll('*')].filter((it) => it.scrollWidth > it.clientWidth"
    )
    moved += " && getComputedStyle(it).overflowX == 'auto')"
    assert page.value(f"{moved}.length > 0")
    assert page.value(f"{moved}.every((it) => it.tabIndex == 0)")


def test_plots_follow_the_light_or_dark_colour_scheme(address, tmp_path):
    line = "getComputedStyle(document.querySelector('.line.c0')).stroke"
    found = []
    for dark in (False, True):
        with chromium.Page(tmp_path / f"profile-{dark}", dark=dark) as page:
            page.open(f"{address}/report.html")
            found.append(page.value(line))
    assert found == ["rgb(15, 118, 110)", "rgb(45, 212, 191)"]


@pytest.mark.parametrize("width", [390, 1366])
def test_a_comparison_of_eight_runs_fits_the_page(address, tmp_path, width):
    with chromium.Page(tmp_path / "profile", width=width) as page:
        page.open(f"{address}/compare.html")
        assert page.value("document.documentElement.scrollWidth") <= width
        names = "[...document.querySelectorAll('section:first-of-type td:first-child')]"
        found = page.value(f"{names}.map(it => it.innerText)")
        assert found == [f"...seed-{seed}" for seed in range(RUN_COUNT)]
        cut = f"{names}.filter(it => it.scrollWidth > it.clientWidth).length"
        assert page.value(cut) == 0


def test_a_comparison_draws_a_line_for_each_run(address, tmp_path):
    with chromium.Page(tmp_path / "profile") as page:
        page.open(f"{address}/compare.html")
        figure = "document.querySelector('figure')"
        assert page.value(f"{figure}.querySelectorAll('.line').length") == RUN_COUNT
        legend = page.value(f"[...{figure}.querySelectorAll('li')].map(it => it.innerText)")
        assert legend == [f"...seed-{seed}" for seed in range(RUN_COUNT)]


def test_a_browser_that_does_not_respond_is_an_error(tmp_path, monkeypatch):
    with chromium.Page(tmp_path / "profile") as page:
        page.process.send_signal(signal.SIGSTOP)
        monkeypatch.setattr(chromium, "TIMEOUT_SECONDS", 0.5)
        with pytest.raises(
            TimeoutError, match=r"Page\.enable: Chromium .* has not answered"
        ):
            page.ask("Page.enable")
