"""Paths of the example files."""

from pathlib import Path


def example_path(name: str) -> Path:
    """Return the path of an example file in the installed package."""
    return Path(__file__).parent / name
