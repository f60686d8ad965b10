"""Errors if no file handle is left, or if the cache folder cannot be created."""

import os
import resource

import numpy as np
import pytest
from faults._apart import run_apart
from faults._readers import readers

import seqloom as sl

# Without file handles, no other program can start.
READER_OF_NAME = {it.name: it for it in readers() if it.name != "exported model"}
MAX_OPEN_FILES = 40  # maximum number of open files of this process


def use_up_handles():
    """Open files until the process has no file handle left."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (MAX_OPEN_FILES, MAX_OPEN_FILES))
    try:
        while True:
            os.open(os.devnull, os.O_RDONLY)
    except OSError:
        return


@pytest.mark.sample(5)
@pytest.mark.parametrize("name", READER_OF_NAME)
def test_errors_for_too_many_open_files_name_the_path(tmp_path, name):
    reader, place = READER_OF_NAME[name], tmp_path / "place"
    place.mkdir()
    reader.prepare(place)

    def read_without_handles():
        reader.read(place)  # imports all modules
        use_up_handles()
        reader.read(place)

    outcome = run_apart(read_without_handles)
    assert outcome.is_ours, str(outcome)
    assert outcome.error.startswith(f"FileError: {place}"), outcome.error
    assert "Too many open files" in outcome.error


def test_a_cache_folder_that_cannot_be_created_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    sl.io.to_bed(tmp_path / "x.bed", np.zeros((20, 30), np.int8))
    cache = tmp_path / "file/cache"
    with pytest.raises(sl.errors.FileError, match="file/cache/genotypes: cannot cache"):
        sl.data.GenotypeDataset(tmp_path / "x.bed", memory=0, cache=cache)
