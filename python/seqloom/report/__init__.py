"""What a person reads after a run: pictures and one HTML file, from names and numbers."""

from seqloom.report._draw_panels import write_panels
from seqloom.report._interval import wilson_interval
from seqloom.report._panels import Areas, Bars, Lines, Quantiles, Shares
from seqloom.report._percent import percent
from seqloom.report._tables import class_table
from seqloom.report._values import Confusion, Curve, Report, Scatter, Table, Tile
from seqloom.report._write import make_page, write_report

__all__ = [
    "Areas",
    "Bars",
    "Confusion",
    "Curve",
    "Lines",
    "Quantiles",
    "Report",
    "Scatter",
    "Shares",
    "Table",
    "Tile",
    "class_table",
    "make_page",
    "percent",
    "wilson_interval",
    "write_panels",
    "write_report",
]
