import os

import pytest

from seqloom.data import SequenceDataset, guess_alphabet
from seqloom.errors import FileError


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
@pytest.mark.parametrize("read", [SequenceDataset, guess_alphabet])
def test_a_pipe_is_refused_not_waited_for(tmp_path, read):
    os.mkfifo(tmp_path / "a.fa")
    with pytest.raises(FileError, match=r"a\.fa: a pipe can be read once only; save it"):
        read(tmp_path / "a.fa")
