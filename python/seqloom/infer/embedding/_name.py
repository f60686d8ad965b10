"""A name for a file that nobody has taken, in one step of the file system."""

from __future__ import annotations

import ctypes
import errno
import os
from typing import TYPE_CHECKING

from seqloom.errors import FileError

if TYPE_CHECKING:
    from pathlib import Path

# What file systems without hard links say (FAT, some network and user-space ones).
_WITHOUT_LINKS = {errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK}
_WITHOUT_RENAME = {errno.EINVAL, errno.ENOTSUP, errno.ENOSYS}
# Of renameat2 in linux/fcntl.h and linux/fs.h.
_AT_FDCWD, _RENAME_NOREPLACE = -100, 1


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
    code = _renameat2(part, final)
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


def _renameat2(part: Path, final: Path) -> int:
    """Asks the system to rename unless the name is taken; returns the error, or 0."""
    library = ctypes.CDLL(None, use_errno=True)
    if not hasattr(library, "renameat2"):
        return errno.ENOSYS
    here, names = _AT_FDCWD, (os.fsencode(part), os.fsencode(final))
    done = library.renameat2(here, names[0], here, names[1], _RENAME_NOREPLACE)
    return ctypes.get_errno() if done else 0
