"""The page: one HTML file that needs nothing but itself."""

from collections.abc import Iterator, Sequence
from importlib.resources import files

from seqloom.report._confusion import MOST_WITH_FIGURES
from seqloom.report._curve import curve_section
from seqloom.report._html import (
    show_facts,
    show_notes,
    show_picture,
    show_table,
    show_text,
    show_tiles,
)
from seqloom.report._letters import show_letters
from seqloom.report._logo import show_logo
from seqloom.report._panels import Drawing, Logo, Plot
from seqloom.report._pictures import Pictures
from seqloom.report._scatter import scatter_section
from seqloom.report._svg import show_plot
from seqloom.report._tables import class_table, confusion_table
from seqloom.report._theme import Picture
from seqloom.report._values import Confusion, Report, Section, Table

# The policy forbids what is not in the file, so a browser proves that nothing is missing.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
PAGE = """<!DOCTYPE html>
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
NO_PICTURES = (
    "Confusion matrices are tables without colours, and no picture has a file of its own, "
    "because matplotlib is not installed: pip install matplotlib adds them."
)


def render(report: Report, pictures: Pictures) -> str:
    """Puts the page together."""
    style = files("seqloom.report").joinpath("_style.css").read_text("utf-8")
    body = "\n".join((*_head(report, pictures), *_sections(report, pictures)))
    return PAGE.format(policy=POLICY, title=show_text(report.title), style=style, body=body)


def _head(report: Report, pictures: Pictures) -> Iterator[str]:
    """Shows what comes before the first section."""
    yield f"<h1>{show_text(report.title)}</h1>"
    if report.lead:
        yield f'<p class="lead">{show_text(report.lead)}</p>'
    if report.tiles:
        yield show_tiles(report.tiles)
    lacks_pictures = not pictures.drawable and (report.confusions or report.course)
    notes = (*report.notes, *((NO_PICTURES,) if lacks_pictures else ()))
    if notes:
        yield show_notes(notes)


def _sections(report: Report, pictures: Pictures) -> Iterator[str]:
    """Shows the sections from the result to the small print."""
    drawn = pictures.confusions or [None] * len(report.confusions)
    matrices = list(map(_show_confusion, report.confusions, drawn))
    yield from matrices[:1]
    if report.scatters:
        yield _show_section(scatter_section(report.scatters))
    yield from map(_show_section, report.sections)
    if report.curves:
        yield _show_section(curve_section(report.curves, report.best_epoch))
    yield from matrices[1:]
    if report.course_table is not None:
        yield _section("By time", _show_course(report.course_table, pictures.course))
    yield from map(_show_extra, report.tables)
    if report.facts:
        yield _section("The run", show_facts(report.facts))


def _show_course(table: Table, pictures: Sequence[Picture]) -> str:
    """Shows the panels beside each other with their numbers folded away."""
    if not pictures:
        return show_table(table, caption=True)
    drawings = "".join(map(show_picture, pictures))
    return f'<div class="pair">{drawings}</div>{_fold(table)}'


def _show_section(section: Section) -> str:
    """Shows drawings and tables under their heading."""
    note = f'<p class="note">{show_text(section.note)}</p>' if section.note else ""
    drawings = "".join(map(_show_drawing, section.drawings))
    drawings = drawings and f'<div class="figures">{drawings}</div>'
    table = "" if section.table is None else show_table(section.table, caption=False)
    details = "" if section.details is None else _fold(section.details)
    return _section(section.title, f"{note}{drawings}{table}{details}")


def _show_drawing(drawing: Drawing) -> str:
    """Shows a plot, letters, or a logo."""
    if isinstance(drawing, Plot):
        return show_plot(drawing)
    return show_logo(drawing) if isinstance(drawing, Logo) else show_letters(drawing)


def _show_extra(table: Table) -> str:
    """Shows one of the report's own tables."""
    note = f'<p class="note">{show_text(table.note)}</p>' if table.note else ""
    return _section(table.title, note + show_table(table, caption=False))


def _section(title: str, inside: str) -> str:
    """Frames one part of the page."""
    return f"<section><h2>{show_text(title)}</h2>{inside}</section>"


def _show_confusion(confusion: Confusion, picture: Picture | None) -> str:
    """Shows the matrix beside the table of classes."""
    left = f"<div>{_with_table(picture, confusion_table(confusion))}</div>"
    right = f"<div>{show_table(class_table(confusion), caption=True)}</div>"
    shape = "pair" if len(confusion.classes) <= MOST_WITH_FIGURES else "stack"
    inside = f'<div class="{shape}">{left}{right}</div>'
    return _section(f"Confusion matrix, {confusion.name}", inside)


def _with_table(picture: Picture | None, table: Table) -> str:
    """Shows a picture with its numbers folded away, or the numbers alone."""
    if picture is None:
        return show_table(table, caption=True)
    return show_picture(picture) + _fold(table)


def _fold(table: Table) -> str:
    """Folds a table away below a picture of the same numbers."""
    summary = f"<summary>{show_text(table.title)}, as a table</summary>"
    return f"<details>{summary}{show_table(table, caption=False)}</details>"
