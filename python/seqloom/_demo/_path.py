"""The paths of the demonstration files."""

from pathlib import Path


def path(name: str) -> Path:
    """Return the path of a demonstration file in the installed package."""
    return Path(__file__).parent / name
