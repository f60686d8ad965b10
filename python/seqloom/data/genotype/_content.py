"""What names the content of a .bed, without reading it anew each time."""

from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from seqloom._files import atomic_path, reading
from seqloom._rust import _native
from seqloom._threads import run_interruptible
from seqloom.data.cache._cache_folder import private_folder
from seqloom.errors import FileError, FormatError

if TYPE_CHECKING:
    from seqloom.data.genotype._files import GenotypeFiles, Reading

# A file that was written so many seconds ago may be written again in the same tick of the
# clock: its stamp is not believed.
_YOUNG = 2.0
# Smaller files are hashed each time.
_WORTH_KEEPING = 64 << 20


def content_of(files: GenotypeFiles, reading: Reading) -> str:
    """Names a .bed's content by 32 hexadecimal digits."""
    # The hash of a large file is kept in the cache together with the file's size and times:
    # the time of the last change of anything (ctime) cannot be set back, so that a file
    # that is not the same is hashed anew.
    stamp = stamp_of(files.bed)
    kept = reading.cache / "contents" / f"{_key(files.bed)}.json"
    if found := _find_known_content(kept, stamp):
        return found
    watch = _native.GenotypeWatch()
    bed = files.open_bed()
    content = run_interruptible(
        lambda: _native.hash_bed(bed, watch, reading.threads), lambda: None, stop=watch.stop
    )
    check_stamp(files.bed, stamp)
    if stamp["size"] >= _WORTH_KEEPING and time.time() - stamp["changed"] / 1e9 > _YOUNG:
        _keep(kept, {**stamp, "content": content})
    return content


def stamp_of(path: str) -> dict[str, int]:
    """Tells what changes when a file is written."""
    with reading(path):
        facts = Path(path).stat()
    return {
        "size": facts.st_size,
        "written": facts.st_mtime_ns,
        "changed": facts.st_ctime_ns,
        "inode": facts.st_ino,
        "device": facts.st_dev,
    }


def check_stamp(path: str, stamp: dict[str, int]) -> None:
    """Refuses a file that was written meanwhile."""
    if stamp_of(path) != stamp:
        raise FormatError(f"{path}: was written while it was being read", path=path)


def _key(path: str) -> str:
    """Names a position on the disk."""
    real = os.path.realpath(path)
    return hashlib.blake2b(os.fsencode(real), digest_size=16).hexdigest()


def _find_known_content(path: Path, stamp: dict[str, int]) -> str | None:
    """Looks up what was found before, if the file is the same."""
    try:
        facts = json.loads(path.read_bytes())
        content = facts.pop("content")
    except (OSError, ValueError, KeyError, AttributeError):
        return None
    return content if facts == stamp and isinstance(content, str) else None


def _keep(path: Path, facts: dict[str, object]) -> None:
    """Writes down what was found; where nothing can be written, it is found again."""
    try:
        private_folder(path.parent)
        with atomic_path(path) as part:
            part.write_text(json.dumps(facts), encoding="utf-8")
            part.chmod(0o600)
    except (OSError, FileError):
        return
