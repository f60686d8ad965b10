"""Jobs that meet an error or a kill at each call that changes files."""

import pytest

import embed_faults
import save_faults
import seqloom as sl

NEEDED = {"create", "write", "fsync", "unlink"}


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    found = save_faults.build(tmp_path_factory.mktemp("library"))
    if found is None:
        pytest.skip("needs a C compiler and Linux")
    return found


@pytest.fixture(scope="module")
def fasta(tmp_path_factory):
    path = tmp_path_factory.mktemp("faults") / "p.fa"
    path.write_text("".join(f">s{n}\n{'MKTAYIAKQR'[n % 7 :]}\n" for n in range(50)))
    sl.io.SequenceIndex(path)
    return path


@pytest.mark.parametrize("naming", ["link", "renameat2"])
@pytest.mark.parametrize("step", [31, pytest.param(1, marks=pytest.mark.soak)])
def test_a_marker_is_never_there_without_its_shard_and_the_same_command_finishes(
    library, fasta, tmp_path, step, naming
):
    rows = embed_faults.run_faults(
        library, tmp_path, fasta, step=step, links=naming == "link"
    )
    assert step > 1 or {row["call"] for row in rows} >= {*NEEDED, naming}
    assert any(row["is_killed"] for row in rows)
    for row in rows:
        assert row["broken"] == [], row
        assert row["after"] == [], row
        assert row["is_same"], row
        is_error = row["said"].startswith("FileError: ") or row["call"] == "unlink"
        assert row["is_killed"] or is_error or "Error" not in row["said"], row
