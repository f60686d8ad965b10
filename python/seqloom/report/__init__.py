"""Creates HTML reports and SVG plots from numbers, tables and text."""

from seqloom.report._allele_pair import AllelePair
from seqloom.report._alleles import make_alleles_svg
from seqloom.report._figure import check_svg
from seqloom.report._interval import (
    auprc_interval,
    auroc_interval,
    pearson_interval,
    percent,
    wilson_interval,
)
from seqloom.report._page import make_page, write_report
from seqloom.report._plot import write_plots
from seqloom.report._sections import class_table
from seqloom.report._values import (
    Confusion,
    Curve,
    Letters,
    Logo,
    MarkedSequence,
    Plot,
    Report,
    Scatter,
    Section,
    Table,
    Tile,
    Trace,
)

__all__ = [
    "AllelePair",
    "Confusion",
    "Curve",
    "Letters",
    "Logo",
    "MarkedSequence",
    "Plot",
    "Report",
    "Scatter",
    "Section",
    "Table",
    "Tile",
    "Trace",
    "auprc_interval",
    "auroc_interval",
    "check_svg",
    "class_table",
    "make_alleles_svg",
    "make_page",
    "pearson_interval",
    "percent",
    "wilson_interval",
    "write_plots",
    "write_report",
]
