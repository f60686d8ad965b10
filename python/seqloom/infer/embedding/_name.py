"""A name for a file that nobody has taken, in one step of the file system."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from seqloom._system import rename_new
from seqloom.errors import FileError

if TYPE_CHECKING:
    from pathlib import Path

# What file systems without hard links say (FAT, some network and user-space ones).
_WITHOUT_LINKS = {errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK}
_WITHOUT_RENAME = {errno.EINVAL, errno.ENOTSUP, errno.ENOSYS}


def give_name(part: Path, final: Path) -> bool:
    """Gives a whole file its name; False, and nothing changes, if the name is taken."""
    try:
        os.link(part, final)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _WITHOUT_LINKS:
            raise
        return _rename_new(part, final)
    return True


def _rename_new(part: Path, final: Path) -> bool:
    """Renames a file where there are no links; False if the name is taken."""
    # To take an empty file's name first, and then to rename over it, would not do: who is
    # killed between the two leaves an empty file, and who sleeps there replaces another's.
    code = rename_new(part, final)
    if code == errno.EEXIST:
        return False
    if code in _WITHOUT_RENAME:
        raise FileError(
            f"{final}: this file system has neither hard links nor a rename that replaces "
            "nothing, so that two processes could write one shard; give a folder of "
            "another disk, or the URL of an object store"
        )
    if code:
        raise OSError(code, os.strerror(code), str(final))
    return True
