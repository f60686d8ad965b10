"""Options of a genotype dataset that exclude each other."""

from __future__ import annotations

from seqloom._arguments import as_choice
from seqloom.data.genotype._encoder import GenotypeEncoder
from seqloom.errors import ArgumentError
from seqloom.io.plink._open_bed import open_bed

_ALLOWED = {
    "by": ("sample", "variant"),
    "dtype": ("float32", "float64"),
    "output": ("numbers", "codes"),
}


def check_options(**options: str) -> None:
    """Refuses options that do not exist."""
    for name, value in options.items():
        as_choice(name, value, _ALLOWED[name])
    if options["output"] == "codes" and options["by"] == "variant":
        raise ArgumentError('output="codes" needs by="sample", got by="variant"')


def check_counted(bed: object, *, count_a1: bool) -> None:
    """Refuses an open .bed that counts the other allele."""
    if isinstance(bed, open_bed) and bed.count_A1 != count_a1:
        raise ArgumentError(
            f"the open .bed has count_A1={bed.count_A1}, the dataset count_A1={count_a1}: "
            f"pass GenotypeDataset(..., count_A1={bed.count_A1})"
        )


def choose_encoder(given: GenotypeEncoder | None, own: GenotypeEncoder) -> GenotypeEncoder:
    """Takes the encoder that is given, which excludes its own arguments, or makes one."""
    if given is None:
        return own
    if not isinstance(given, GenotypeEncoder):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"encoder must be a GenotypeEncoder or None, got {given!r}")
    if own not in {GenotypeEncoder(), GenotypeEncoder(**given.settings())}:
        raise ArgumentError(
            "impute, standardize and count_A1 are settings of the encoder: omit them "
            "where encoder= is passed"
        )
    return given
