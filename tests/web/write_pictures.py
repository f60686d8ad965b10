"""Write the pictures of the documentation (`make pictures`)."""

import base64
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

REPOSITORY = Path(__file__).parents[2]
sys.path.insert(0, str(REPOSITORY / "tests"))

from chromium import Page  # noqa: E402 - the folder of the tests is no package
from web_server import serving  # noqa: E402

ASSETS_FOLDER = REPOSITORY / "docs/assets"
COMMAND_LINES = """
seqloom demo
seqloom demo --files .
seqloom inspect train.fa.gz --plot letters.svg
seqloom train train.fa.gz --labels train.tsv --epochs 20 --out runs/splice
seqloom train genome.fa.gz --intervals peaks.bed --label-column name --length 80 \\
    --epochs 12 --lr 3e-3 --quiet --out runs/peaks
python -c 'import seqloom as sl
picture = sl.infer.explain_variant("runs/peaks", "chr4:1033:CT:C", "genome.fa.gz")
picture.to_svg("variant.svg")'
"""
PAGE_WIDTH = 1000
PLOT_PAGE = '<body style="margin: 0"><img src="{name}.svg" width="{width}">'
# Returns the area from the top of the first element to the bottom of the last element.
PICTURE_BOUNDS_SCRIPT = """
(() => {
  const [first, last] = [%r, %r].map((it) =>
    document.querySelector(it).getBoundingClientRect());
  return [first.top, last.bottom];
})()
"""


def main() -> None:
    """Run the commands, and take pictures of their output."""
    with TemporaryDirectory() as name, serving(Path(name)) as server:
        subprocess.run(["/bin/bash", "-ec", COMMAND_LINES], cwd=name, check=True)
        for scheme in ("light", "dark"):
            with Page(Path(name) / scheme, width=PAGE_WIDTH, dark=scheme == "dark") as page:
                page.open(f"{server.address}seqloom-demo/report.html")
                take(page, f"report-{scheme}", "body", "section:nth-of-type(2)")
                page.open(f"{server.address}runs/splice/report.html")
                take(page, f"run-{scheme}", "section", "section:nth-of-type(2)")
        for plot in ("letters", "variant"):
            html = PLOT_PAGE.format(name=plot, width=PAGE_WIDTH)
            (Path(name) / f"{plot}.html").write_text(html, encoding="utf-8")
            with Page(Path(name) / plot, width=PAGE_WIDTH) as page:
                page.open(f"{server.address}{plot}.html")
                take(page, plot, "img", "img")
    take_web_page()


def take_web_page() -> None:
    """Take a picture of the page of `make web`, with the scores of its example."""
    with (
        TemporaryDirectory() as name,
        serving(REPOSITORY / "web/dist") as server,
        Page(Path(name), width=PAGE_WIDTH) as page,
    ):
        score(page, server.address)
        take(page, "browser-page", "body", "footer", scale=0.9)  # a long page


def score(page: Page, address: str) -> None:
    """Score the example, and explain its last record."""
    page.open(address)
    page.wait("!document.getElementById('score').disabled")
    page.value("document.getElementById('score').click()")
    page.wait("document.querySelectorAll('#table tbody tr').length == 8")
    page.value("document.querySelector('#table tbody tr:last-child button').click()")
    page.wait("document.getElementById('strongest').innerText.includes('IE')")


def take(page: Page, name: str, first: str, last: str, *, scale: float = 1.2) -> None:
    """Take a picture of part of a page, as WebP."""
    page.ask("Emulation.setScrollbarsHidden", hidden=True)  # pictures have no scroll bars
    top, bottom = page.value(PICTURE_BOUNDS_SCRIPT % (first, last))
    clip = {"x": 0, "y": top, "width": PAGE_WIDTH, "height": bottom - top, "scale": scale}
    form = {"format": "webp", "quality": 70, "captureBeyondViewport": True}
    made = page.ask("Page.captureScreenshot", clip=clip, **form)
    (ASSETS_FOLDER / f"{name}.webp").write_bytes(base64.b64decode(made["data"]))


if __name__ == "__main__":
    main()
