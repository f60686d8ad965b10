"""Where files are kept between runs that nobody named a position for."""

from __future__ import annotations

import os
from pathlib import Path


def cache_home() -> Path:
    """Finds the folder of this user's cache: ``SEQLOOM_CACHE``, else in ``~/.cache``."""
    if named := os.environ.get("SEQLOOM_CACHE"):
        return Path(named).expanduser().absolute()
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(home).expanduser().absolute() / "seqloom"
