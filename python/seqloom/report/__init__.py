"""What a person reads after a run: pictures and one HTML file, from names and numbers."""

from seqloom.report._calibration import calibration_section
from seqloom.report._draw_panels import write_panels
from seqloom.report._interval import (
    auprc_interval,
    auroc_interval,
    pearson_interval,
    wilson_interval,
)
from seqloom.report._panels import (
    Areas,
    Bars,
    Letters,
    Lines,
    Logo,
    MarkedSequence,
    Plot,
    Quantiles,
    Shares,
    Trace,
)
from seqloom.report._percent import percent
from seqloom.report._rank_curves import class_curves
from seqloom.report._tables import class_table
from seqloom.report._values import Confusion, Curve, Report, Scatter, Section, Table, Tile
from seqloom.report._write import make_page, write_report

__all__ = [
    "Areas",
    "Bars",
    "Confusion",
    "Curve",
    "Letters",
    "Lines",
    "Logo",
    "MarkedSequence",
    "Plot",
    "Quantiles",
    "Report",
    "Scatter",
    "Section",
    "Shares",
    "Table",
    "Tile",
    "Trace",
    "auprc_interval",
    "auroc_interval",
    "calibration_section",
    "class_curves",
    "class_table",
    "make_page",
    "pearson_interval",
    "percent",
    "wilson_interval",
    "write_panels",
    "write_report",
]
