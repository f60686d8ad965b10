"""Sample files of bed_reader for tutorials and tests."""

from __future__ import annotations

import os
import tempfile
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqloom.errors import MissingExtraError

if TYPE_CHECKING:
    from typing import Protocol

    class _SampleDownloader(Protocol):
        """Protocol of the pooch class that downloads files."""

        def fetch(self, fname: str) -> str: ...


_FOLDER_VARIABLE = "BED_READER_DATA_DIR"
_HASH_FILE = Path(__file__).with_name("samples.txt")
_DOWNLOAD_URL = "https://raw.githubusercontent.com/fastlmm/bed-sample-files/main/"


def sample_file(filepath: str | os.PathLike[str]) -> str:
    """Return the path of a sample file; for a .bed, also fetch its .fam and .bim.

    Args:
        filepath: The name of the file, such as ``"small.bed"``.

    Returns:
        The path of the file, either in the folder given by the environment variable
            BED_READER_DATA_DIR, or in the download cache of pooch.

    Raises:
        MissingExtraError: The file must be downloaded, and pooch is not installed.

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
    return [_find_or_download(file) for file in (*names, name)][-1]


def sample_url(filepath: str | os.PathLike[str]) -> str:
    """Return the file:// URL of a sample file that `sample_file` finds.

    Args:
        filepath: The name of the file, such as ``"small.bed"``.

    Returns:
        A URL that begins with ``file://``.

    Raises:
        MissingExtraError: The file must be downloaded, and pooch is not installed.

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
        The path of a new folder in the temporary directory of the system.

    Examples:
        >>> tmp_path().is_dir()
        True
    """
    folder = Path(tempfile.gettempdir()) / "bed_reader_tmp_path"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _find_or_download(name: Path) -> str:
    folder = os.environ.get(_FOLDER_VARIABLE)
    if folder and (Path(folder) / name).is_file():
        return str(Path(folder) / name)
    return _make_downloader().fetch(str(name))


def _make_downloader() -> _SampleDownloader:
    """Create the pooch downloader, which checks the hashes of sample files."""
    try:
        pooch: Any = import_module("pooch")
    except ImportError as error:
        raise MissingExtraError(
            "downloading sample files needs pooch: pip install pooch; or set "
            f"{_FOLDER_VARIABLE} to a folder that contains them"
        ) from error
    registry = dict(line.split() for line in _HASH_FILE.read_text("ascii").splitlines())
    cache = pooch.os_cache("bed_reader")
    return pooch.create(cache, _DOWNLOAD_URL, env=_FOLDER_VARIABLE, registry=registry)
