"""What the tables beside a .bed say, as properties of an object."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from seqloom._arguments import quote
from seqloom.errors import ArgumentError, FormatError
from seqloom.io.plink._metadata import count_lines, read_columns
from seqloom.io.plink._properties import (
    COUNT_NAMES,
    PROPERTIES,
    check_count,
    find_property,
    names_of,
    override,
)
from seqloom.io.plink._remote import read_object

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from seqloom.io.plink._location import Location
    from seqloom.io.plink._properties import Column, Suffix


class BedProperties:
    """Reads the columns of a .fam and a .bim as somebody asks for them.

    Args:
        locations: The two tables.
        counts: How many individuals and variants there are, where the caller knows.
        properties: Columns that stand in for those of the tables; None hides a column.
        cloud_options: How to reach tables in the cloud.
    """

    def __init__(
        self,
        locations: Mapping[Suffix, Location],
        counts: Mapping[Suffix, int | None],
        properties: Mapping[str, ArrayLike | None],
        *,
        cloud_options: Mapping[str, str],
    ) -> None:
        if not isinstance(cloud_options, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - a caller may give anything
            raise ArgumentError(
                f'cloud_options must be a dict such as {{"timeout": "10s"}}, got '
                f"{quote(cloud_options)}"
            )
        self.cloud_options = dict(cloud_options)
        self._locations = dict(locations)
        self._counts: dict[Suffix, int | None] = {
            suffix: None if count is None else check_count(suffix, count)
            for suffix, count in counts.items()
        }
        self.properties_dict: dict[str, Column] = override(properties, self._counts)

    @property
    def tables(self) -> Mapping[Suffix, Location]:
        """Where the .fam and the .bim are."""
        return dict(self._locations)

    @property
    def iid_count(self) -> int:
        """How many individuals there are."""
        return self._count("fam")

    @property
    def sid_count(self) -> int:
        """How many variants there are."""
        return self._count("bim")

    @property
    def shape(self) -> tuple[int, int]:
        """How many individuals and how many variants there are."""
        return self._count("fam"), self._count("bim")

    @property
    def fid(self) -> Column:
        """The family of each individual."""
        return self.property_item("fid")

    @property
    def iid(self) -> Column:
        """The id of each individual."""
        return self.property_item("iid")

    @property
    def father(self) -> Column:
        """The id of each individual's father; ``"0"``: unknown."""
        return self.property_item("father")

    @property
    def mother(self) -> Column:
        """The id of each individual's mother; ``"0"``: unknown."""
        return self.property_item("mother")

    @property
    def sex(self) -> Column:
        """The sex of each individual: 1 male, 2 female, 0 unknown."""
        return self.property_item("sex")

    @property
    def pheno(self) -> Column:
        """The phenotype of each individual, as text."""
        return self.property_item("pheno")

    @property
    def chromosome(self) -> Column:
        """The chromosome of each variant, as text."""
        return self.property_item("chromosome")

    @property
    def sid(self) -> Column:
        """The id of each variant."""
        return self.property_item("sid")

    @property
    def cm_position(self) -> Column:
        """Where each variant lies, in centimorgans."""
        return self.property_item("cm_position")

    @property
    def bp_position(self) -> Column:
        """Where each variant lies, in base pairs."""
        return self.property_item("bp_position")

    @property
    def allele_1(self) -> Column:
        """The allele A1 of each variant, which ``count_A1`` counts."""
        return self.property_item("allele_1")

    @property
    def allele_2(self) -> Column:
        """The allele A2 of each variant."""
        return self.property_item("allele_2")

    @property
    def properties(self) -> dict[str, Column]:
        """All twelve properties by their names."""
        for name in PROPERTIES:
            self.property_item(name)
        return self.properties_dict

    def property_item(self, name: str) -> Column:
        """Gives one property by its name; its table is read on first use.

        Args:
            name: One of the twelve names, such as ``"iid"``.

        Returns:
            An array with a value for each individual or variant; None where the object was
            made with None for it.

        Raises:
            IdError: There is no such property.
            FormatError: The table cannot be read, or holds another number of lines.
        """
        if name not in self.properties_dict:
            self._read_table(find_property(name).suffix)
        return self.properties_dict[name]

    def _count(self, suffix: Suffix) -> int:
        """Counts the lines of a table, once."""
        count = self._counts[suffix]
        if count is None:
            source = self._source(suffix)
            count = self._counts[suffix] = count_lines(source, suffix)
            self._check_set()
        return count

    def _read_table(self, suffix: Suffix) -> None:
        """Reads what is not known yet of a table."""
        names = [name for name in names_of(suffix) if name not in self.properties_dict]
        source = self._source(suffix)
        columns = read_columns(source, suffix, names, name=self._name(suffix))
        self._check_set()
        self._check_lines(suffix, len(columns[names[0]]))
        self.properties_dict |= columns

    def _check_lines(self, suffix: Suffix, lines: int) -> None:
        """Compares a table's lines with the count; where there was none, takes them."""
        count = self._counts[suffix]
        if count is None:
            self._counts[suffix] = lines
        elif count != lines:
            raise FormatError(
                f"{self._name(suffix)}: The number of lines in the *.{suffix} file, "
                f"{lines}, should not be different from the current {COUNT_NAMES[suffix]}, "
                f"{count}",
                kind="count",
                path=self._name(suffix),
            )

    def _source(self, suffix: Suffix) -> Path | bytes:
        """Gives a table's file, or all bytes of one in the cloud."""
        location = self._locations[suffix]
        if isinstance(location, Path):
            return location
        return read_object(location, self.cloud_options)

    def _name(self, suffix: Suffix) -> str:
        """Says what errors call a table."""
        location = self._locations[suffix]
        return str(location) if isinstance(location, Path) else location.geturl()

    def _check_set(self) -> None:
        """Refuses tables of another set than the .bed that is open."""
