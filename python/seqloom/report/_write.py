"""Writes a report and its pictures into a folder; each file is whole or absent."""

from os import PathLike
from pathlib import Path

from seqloom._files import write_atomic
from seqloom.report._page import render
from seqloom.report._pictures import draw, draw_files
from seqloom.report._values import Report


def write_report(folder: str | PathLike[str], report: Report) -> Path:
    """Writes ``report.html`` and its pictures into a folder that exists.

    The page is one file: it contains its pictures and style, needs no network and runs no
    script. Beside it stand ``learning-curve.png`` (where there are curves),
    ``confusion.png`` (the first confusion) and ``scatter.png`` (the scatters). Without
    matplotlib these are left out, confusions are tables, and the page says so.

    What a training run passes::

        Report(
            title="splice",  # the run folder's or the data's name
            lead="SequenceCNN learned EI, IE and N from 1,800 sequences of 60 letters.",
            tiles=(Tile("test accuracy", "96.2 %", note="95.0 to 97.2 %"), ...),
            notes=("12 sequences have no label and were left out.",),
            curves=(
                Curve("loss", {"training": [...], "validation": [...]}),
                Curve("accuracy", {"training": [...], "validation": [...]}),
            ),
            best_epoch=14,  # None where nothing was chosen
            confusions=(Confusion("test", classes, counts), Confusion("validation", ...)),
            scatters=(Scatter("gc", true, predicted),),  # instead, for a regression
            tables=(Table("Worst mistakes", ("id", "true", "called"), [...]),),
            facts={"model": "SequenceCNN, 21,379 parameters", "seed": 0, ...},
        )

    The table of precision, recall and F1 is made from each confusion; do not pass it.

    Args:
        folder: Where the files go.
        report: What the files show.

    Returns:
        The path of ``report.html``.

    Raises:
        FileError: If a file cannot be written.

    Examples:
        >>> import os
        >>> page = write_report(".", Report(title="empty", facts={"seed": 0}))
        >>> page.name, os.path.exists("learning-curve.png")
        ('report.html', False)
    """
    folder = Path(folder)
    pictures = draw(report)
    for name, picture in draw_files(report, pictures):
        write_atomic(folder / name, picture)
    page = folder / "report.html"
    write_atomic(page, render(report, pictures).encode())
    return page


def make_page(report: Report) -> bytes:
    """Makes the page of a report without writing it.

    Args:
        report: What the page shows.

    Returns:
        The bytes of ``report.html``.

    Examples:
        >>> make_page(Report(title="empty"))[:15]
        b'<!DOCTYPE html>'
    """
    return render(report, draw(report)).encode()
