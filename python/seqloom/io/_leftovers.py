"""What a killed process leaves beside an index."""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_DAY = 24 * 60 * 60


def remove_leftovers(side: Path) -> None:
    """Removes parts of an index whose process, which their names tell, is no more.

    The extension makes them, and locks nothing. A process of another machine or container
    cannot be seen from here: what was written within a day stays, whoever wrote it.

    Args:
        side: The index's file.

    Examples:
        >>> from pathlib import Path
        >>> remove_leftovers(Path("a.fa.sli"))
    """
    pattern = re.compile(rf"\.{re.escape(side.name)}\.(\d+)\.\d+\.part")
    with suppress(OSError):
        for part in side.parent.iterdir():
            named = pattern.fullmatch(part.name)
            if named and not _is_alive(int(named[1])) and _is_old(part):
                part.unlink()


def _is_alive(process: int) -> bool:
    """Says whether there is such a process; signal 0 asks, and does nothing."""
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


def _is_old(part: Path) -> bool:
    """Says whether nothing was written for a day."""
    return time.time() - part.stat().st_mtime > _DAY
