"""Base class with the columns of a .fam and a .bim as properties."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from seqloom._arguments import quote
from seqloom.errors import ArgumentError, FormatError
from seqloom.io.plink._cloud_bed import read_object
from seqloom.io.plink._properties import (
    COUNT_NAMES,
    PROPERTIES,
    as_count,
    find_property,
    override_columns,
    property_names,
)
from seqloom.io.plink._tables import check_not_exchanged, count_lines, read_columns

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from seqloom.io.plink._file_set import Location
    from seqloom.io.plink._properties import Column, Suffix


class BedProperties:
    """Properties of individuals and variants, read from a .fam and a .bim at first use.

    Args:
        locations: The locations of the .fam and the .bim.
        counts: Numbers of individuals and variants; None uses the number of lines of the
            table.
        properties: Columns to use instead of those in the tables; None hides a column.
        cloud_options: Options of the object store that contains the tables.
    """

    def __init__(
        self,
        locations: Mapping[Suffix, Location],
        counts: Mapping[Suffix, int | None],
        properties: Mapping[str, ArrayLike | None],
        *,
        cloud_options: Mapping[str, str],
    ) -> None:
        if not isinstance(cloud_options, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - callers are untyped
            raise ArgumentError(
                f'cloud_options must be a dict such as {{"timeout": "10s"}}, got '
                f"{quote(cloud_options)}"
            )
        self.cloud_options = dict(cloud_options)
        self._locations = dict(locations)
        self._counts: dict[Suffix, int | None] = {
            suffix: None if count is None else as_count(suffix, count)
            for suffix, count in counts.items()
        }
        self.properties_dict: dict[str, Column] = override_columns(properties, self._counts)

    @property
    def tables(self) -> Mapping[Suffix, Location]:
        """Locations of the .fam and the .bim."""
        return dict(self._locations)

    @property
    def iid_count(self) -> int:
        """Number of individuals."""
        return self._count_rows("fam")

    @property
    def sid_count(self) -> int:
        """Number of variants."""
        return self._count_rows("bim")

    @property
    def shape(self) -> tuple[int, int]:
        """Number of individuals and number of variants."""
        return self._count_rows("fam"), self._count_rows("bim")

    @property
    def fid(self) -> Column:
        """Family id of each individual."""
        return self.property_item("fid")

    @property
    def iid(self) -> Column:
        """Id of each individual."""
        return self.property_item("iid")

    @property
    def father(self) -> Column:
        """Id of each individual's father; ``"0"`` is unknown."""
        return self.property_item("father")

    @property
    def mother(self) -> Column:
        """Id of each individual's mother; ``"0"`` is unknown."""
        return self.property_item("mother")

    @property
    def sex(self) -> Column:
        """Sex of each individual: 1 male, 2 female, 0 unknown."""
        return self.property_item("sex")

    @property
    def pheno(self) -> Column:
        """Phenotype of each individual, as text."""
        return self.property_item("pheno")

    @property
    def chromosome(self) -> Column:
        """Chromosome of each variant, as text."""
        return self.property_item("chromosome")

    @property
    def sid(self) -> Column:
        """Id of each variant."""
        return self.property_item("sid")

    @property
    def cm_position(self) -> Column:
        """Position of each variant, in centimorgans."""
        return self.property_item("cm_position")

    @property
    def bp_position(self) -> Column:
        """Position of each variant, in base pairs."""
        return self.property_item("bp_position")

    @property
    def allele_1(self) -> Column:
        """Allele A1 of each variant; ``count_A1=True`` counts this allele."""
        return self.property_item("allele_1")

    @property
    def allele_2(self) -> Column:
        """Allele A2 of each variant."""
        return self.property_item("allele_2")

    @property
    def properties(self) -> dict[str, Column]:
        """A dict from name to column with all twelve properties."""
        for name in PROPERTIES:
            self.property_item(name)
        return self.properties_dict

    def property_item(self, name: str) -> Column:
        """Return a property by name; its table is read at the first use.

        Args:
            name: The name of the property, such as ``"iid"``.

        Returns:
            An array with one value for each individual or variant, or None for a hidden
            property.

        Raises:
            IdError: The name is unknown.
            FormatError: The table cannot be read, or its number of lines does not match the
                .bed.
        """
        if name not in self.properties_dict:
            self._read_table(find_property(name).suffix)
        return self.properties_dict[name]

    def _count_rows(self, suffix: Suffix) -> int:
        """Return the number of lines of a table; the first call counts them."""
        count = self._counts[suffix]
        if count is None:
            source = self._table_source(suffix)
            count = self._counts[suffix] = count_lines(source, suffix)
            self._check_not_replaced()
            fam, bim = self._locations["fam"], self._locations["bim"]
            if suffix == "fam" and isinstance(fam, Path) and isinstance(bim, Path):
                check_not_exchanged(fam, bim)
        return count

    def _read_table(self, suffix: Suffix) -> None:
        """Read those columns of a table that are not in memory yet."""
        names = [
            name for name in property_names(suffix) if name not in self.properties_dict
        ]
        source = self._table_source(suffix)
        columns = read_columns(source, suffix, names, name=self._table_name(suffix))
        self._check_not_replaced()
        lines, count = len(columns[names[0]]), self._counts[suffix]
        if count is None:
            self._counts[suffix] = lines
        elif count != lines:
            raise FormatError(
                f"{self._table_name(suffix)}: The number of lines in the *.{suffix} file, "
                f"{lines}, should not be different from the current {COUNT_NAMES[suffix]}, "
                f"{count}",
                kind="count",
                path=self._table_name(suffix),
            )
        self.properties_dict |= columns

    def _table_source(self, suffix: Suffix) -> Path | bytes:
        """Return the path of a table; for a table in the cloud, return its bytes."""
        location = self._locations[suffix]
        if isinstance(location, Path):
            return location
        return read_object(location, self.cloud_options)

    def _table_name(self, suffix: Suffix) -> str:
        """Return the name of a table for error messages."""
        location = self._locations[suffix]
        return str(location) if isinstance(location, Path) else location.geturl()

    def _check_not_replaced(self) -> None:
        """Raise if the tables have been replaced since the .bed was opened."""
