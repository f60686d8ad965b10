"""Where the demonstration's files lie."""

from pathlib import Path


def path(name: str) -> Path:
    """Finds one of the demonstration's files.

    Args:
        name: ``train.fa.gz``, ``train.tsv``, ``test.fa.gz``, ``test.tsv``, ``README.md``,
            or ``genotypes/example.bed`` and ``genome/genome.fa.gz`` with their neighbours.

    Returns:
        Where the installed package keeps it.

    Examples:
        >>> path("train.tsv").read_text().splitlines()[0].split()
        ['id', 'label']
    """
    return Path(__file__).parent / name
