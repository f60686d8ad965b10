"""``seqloom bed``: commands for PLINK files."""

from cyclopts import App

from seqloom.cli._bed_convert import convert
from seqloom.cli._bed_inspect import inspect
from seqloom.cli._bed_stats import stats
from seqloom.cli._bed_subset import subset

bed = App(
    name="bed",
    help="PLINK genotypes: a .bed with its .fam and .bim.",
    version_flags=(),
    sort_key=10,
)
for position, command in enumerate((inspect, stats, subset, convert)):
    bed.command(command, sort_key=position)
