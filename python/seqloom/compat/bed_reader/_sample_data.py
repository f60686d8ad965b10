"""The sample files of bed_reader, which tutorials and tests read."""

from __future__ import annotations

import os
import tempfile
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqloom.errors import MissingExtraError

if TYPE_CHECKING:
    from typing import Protocol

    class _Store(Protocol):
        """Stands for pooch's object that fetches files."""

        def fetch(self, fname: str) -> str: ...


_FOLDER = "BED_READER_DATA_DIR"
_HASHES = Path(__file__).with_name("samples.txt")
_SOURCE = "https://raw.githubusercontent.com/fastlmm/bed-sample-files/main/"


def sample_file(filepath: str | os.PathLike[str]) -> str:
    """Return the path of a sample file; a .bed has its .fam and .bim beside it.

    Args:
        filepath: The name of the file, such as ``"small.bed"``.

    Returns:
        Its path: in the folder that the variable BED_READER_DATA_DIR names, if it is there;
        else in the cache, to which pooch fetches it.

    Raises:
        MissingExtraError: The file must be fetched, and pooch is not installed.

    Examples:
        >>> import os
        >>> from pathlib import Path
        >>> os.environ["BED_READER_DATA_DIR"] = os.getcwd()
        >>> for suffix in ("bed", "bim", "fam"):
        ...     Path(f"small.{suffix}").touch()
        >>> Path(sample_file("small.bed")).name
        'small.bed'
        >>> del os.environ["BED_READER_DATA_DIR"]
    """
    name = Path(filepath)
    is_set = name.suffix.lower() == ".bed"
    names = [name.with_suffix(s) for s in (".fam", ".bim")] if is_set else []
    return [_find(file) for file in (*names, name)][-1]


def sample_url(filepath: str | os.PathLike[str]) -> str:
    """Return the URL of a sample file, whose path `sample_file` returns.

    Args:
        filepath: The name of the file, such as ``"small.bed"``.

    Returns:
        A URL that begins with ``file://``.

    Raises:
        MissingExtraError: The file must be fetched, and pooch is not installed.

    Examples:
        >>> import os
        >>> from pathlib import Path
        >>> os.environ["BED_READER_DATA_DIR"] = os.getcwd()
        >>> Path("small.fam").touch()
        >>> sample_url("small.fam").startswith("file:///")
        True
        >>> del os.environ["BED_READER_DATA_DIR"]
    """
    return Path(sample_file(filepath)).absolute().as_uri()


def tmp_path() -> Path:
    """Return a folder for temporary files.

    Returns:
        A folder among the temporary files of the machine.

    Examples:
        >>> tmp_path().is_dir()
        True
    """
    folder = Path(tempfile.gettempdir()) / "bed_reader_tmp_path"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _find(name: Path) -> str:
    """Find a file in the folder that the environment names, or fetch it."""
    folder = os.environ.get(_FOLDER)
    if folder and (Path(folder) / name).is_file():
        return str(Path(folder) / name)
    return _store().fetch(str(name))


def _store() -> _Store:
    """Make what fetches sample files and compare them with the hashes of the list."""
    try:
        pooch: Any = import_module("pooch")
    except ImportError as error:
        raise MissingExtraError(
            "sample files are fetched by pooch: pip install pooch; or name a folder that "
            f"holds them in {_FOLDER}"
        ) from error
    registry = dict(line.split() for line in _HASHES.read_text("ascii").splitlines())
    cache = pooch.os_cache("bed_reader")
    return pooch.create(cache, _SOURCE, env=_FOLDER, registry=registry)
