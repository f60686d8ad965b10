"""The page of a report, a self-contained HTML file."""

from collections.abc import Iterator
from os import PathLike
from pathlib import Path

from seqloom._files import write_atomic
from seqloom.report._allele_pair import AllelePair
from seqloom.report._alleles import draw_alleles
from seqloom.report._figure import (
    html_text,
    read_style,
    show_facts,
    show_figure,
    show_table,
    show_tile,
    write_figures,
)
from seqloom.report._plot import draw_logo, draw_plot, show_coloured_letters
from seqloom.report._sections import (
    MAX_NUMBERED_CLASSES,
    class_table,
    confusion_table,
    draw_confusion,
    make_curve_section,
    make_scatter_section,
    plot_curve,
    plot_predictions,
)
from seqloom.report._values import Confusion, Drawing, Letters, Plot, Report, Section, Table

# The content security policy of the page, which forbids the browser to load other
# files.
_SECURITY_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_PAGE_TEMPLATE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<main>
{body}
</main>
</body>
</html>
"""


def write_report(folder: str | PathLike[str], report: Report) -> Path:
    """Write ``report.html`` and its pictures into an existing folder.

    The page is a single file that contains its pictures and styles, loads nothing and
    runs no script. Three pictures are also written as separate files:
    ``learning-curve.svg``, ``confusion.svg`` (the first confusion matrix) and
    ``scatter.svg``.

    A report of a training run is created as follows::

        Report(
            title="splice",  # the run folder's or the data's name
            lead="SequenceCNN was trained on 1,800 sequences.",
            tiles=(Tile("test accuracy", "96.2 %", note="95.0 to 97.2 %"), ...),
            notes=("12 sequences were left out.",),
            curves=(
                Curve("loss", {"training": [...], "validation": [...]}),
                Curve("accuracy", {"training": [...], "validation": [...]}),
            ),
            best_epoch=14,  # None without a validation set
            confusions=(Confusion("test", classes, counts), Confusion("validation", ...)),
            scatters=(Scatter("gc", true, predicted),),  # instead, for a regression
            tables=(Table("Worst mistakes", ("id", "true", "predicted"), [...]),),
            facts={"model": "SequenceCNN, 21,379 parameters", "seed": 0, ...},
        )

    The table of precision, recall and F1 is computed from each confusion matrix.

    Args:
        folder: The folder to write to.
        report: The content of the page.

    Returns:
        The path of ``report.html``.

    Raises:
        FileError: A file cannot be written.

    Examples:
        >>> import os
        >>> page = write_report(".", Report(title="empty", facts={"seed": 0}))
        >>> page.name, os.path.exists("learning-curve.svg")
        ('report.html', False)
    """
    folder = Path(folder)
    scatters = [it for it in report.scatters if len(it.residuals)]
    pictures = {
        "learning-curve": [
            draw_plot(plot_curve(it, report.best_epoch)) for it in report.curves
        ],
        "confusion": [draw_confusion(it) for it in report.confusions[:1]],
        "scatter": [draw_plot(plot_predictions(it)) for it in scatters],
    }
    for name, figures in pictures.items():
        if figures:
            write_figures(folder / f"{name}.svg", report.title, figures)
    page = folder / "report.html"
    write_atomic(page, make_page(report))
    return page


def make_page(report: Report) -> bytes:
    """Return the HTML page of a report.

    Args:
        report: The content of the page.

    Returns:
        The bytes of ``report.html``.

    Examples:
        >>> make_page(Report(title="empty"))[:15]
        b'<!DOCTYPE html>'
    """
    style = read_style("_style.css") + read_style("_figure.css")
    body = "\n".join(_make_sections(report))
    title = html_text(report.title)
    return _PAGE_TEMPLATE.format(
        policy=_SECURITY_POLICY, title=title, style=style, body=body
    ).encode()


def _make_sections(report: Report) -> Iterator[str]:
    """Yield the HTML of the heading and of the sections: results first, settings last."""
    yield f"<h1>{html_text(report.title)}</h1>"
    if report.lead:
        yield f'<p class="lead">{html_text(report.lead)}</p>'
    if report.tiles:
        yield f'<ul class="tiles">{"".join(map(show_tile, report.tiles))}</ul>'
    if report.notes:
        notes = "".join(f"<li>{html_text(note)}</li>" for note in report.notes)
        yield f'<ul class="notes">{notes}</ul>'
    yield from map(_show_confusion, report.confusions[:1])
    if report.scatters:
        yield _show_section(make_scatter_section(report.scatters))
    yield from map(_show_section, report.sections)
    if report.curves:
        yield _show_section(make_curve_section(report.curves, report.best_epoch))
    yield from map(_show_confusion, report.confusions[1:])
    for table in report.tables:
        yield _show_section(Section(title=table.title, note=table.note, table=table))
    if report.facts:
        yield _wrap_section("The run", show_facts(report.facts))


def _show_section(section: Section) -> str:
    """Return the HTML of plots and tables under their heading."""
    note = f'<p class="note">{html_text(section.note)}</p>' if section.note else ""
    drawings = "".join(map(_show_drawing, section.drawings))
    drawings = drawings and f'<div class="figures">{drawings}</div>'
    table = "" if section.table is None else show_table(section.table, caption=False)
    details = "" if section.details is None else _collapse_table(section.details)
    return _wrap_section(section.title, f"{note}{drawings}{table}{details}")


def _show_drawing(drawing: Drawing) -> str:
    """Return the HTML of a plot, coloured sequences, a sequence logo or alleles."""
    if isinstance(drawing, Letters):
        return show_coloured_letters(drawing)
    if isinstance(drawing, AllelePair):
        return show_figure(draw_alleles(drawing))
    is_plot = isinstance(drawing, Plot)
    return show_figure(draw_plot(drawing) if is_plot else draw_logo(drawing))


def _show_confusion(confusion: Confusion) -> str:
    """Return the HTML of a confusion matrix and of its table of precision and recall."""
    picture = show_figure(draw_confusion(confusion)) + _collapse_table(
        confusion_table(confusion)
    )
    table = show_table(class_table(confusion), caption=True)
    shape = "pair" if len(confusion.classes) <= MAX_NUMBERED_CLASSES else "stack"
    inside = f'<div class="{shape}"><div>{picture}</div><div>{table}</div></div>'
    return _wrap_section(f"Confusion matrix, {confusion.name}", inside)


def _wrap_section(title: str, inside: str) -> str:
    """Wrap HTML in a section with a heading."""
    return f"<section><h2>{html_text(title)}</h2>{inside}</section>"


def _collapse_table(table: Table) -> str:
    """Return a collapsed table with the numbers that a plot shows."""
    summary = f"<summary>{html_text(table.title)} as a table</summary>"
    return f"<details>{summary}{show_table(table, caption=False)}</details>"
