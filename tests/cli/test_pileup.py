"""``seqloom pileup`` writes a bigWig file, and prints the shift of the ends."""

import pytest

import seqloom as sl


@pytest.fixture
def files(tmp_path):
    """A genome, and fragments of which one is on another contig."""
    (tmp_path / "g.fa").write_text(f">chr1\n{'ACGT' * 50}\n")
    rows = ["chr1\t10\t60\tx\t2", "chr1\t10\t90\tx\t1", "chrX\t1\t9\tx\t1"]
    (tmp_path / "f.tsv").write_text("\n".join(rows))
    required = "--genome", tmp_path / "g.fa", "--assay", "atac"
    return tmp_path / "f.tsv", *required, "--out", tmp_path / "a.bw"


def test_pileup_prints_what_was_counted(call, files):
    said = call("pileup", *files, "--outside", "drop", "--shift", "-2/+1")
    assert (said.code, said.err) == (0, "")
    assert said.out.splitlines() == [
        "2 fragments, 4 ends counted",
        "the bias motif is unclear, so the shift of the ends is unknown",
        "added -2/+1",
        "left out 1 fragment on contigs that the genome lacks: chrX",
        f"track  {files[-1]}",
    ]
    entries = sl.io.open_tracks(files[-1]).entries("chr1", 0, 200)
    assert (entries.starts.tolist(), entries.values.tolist()) == ([8, 60, 90], [2, 1, 1])


def test_both_strands_and_duplicates_are_options(call, files):
    words = "--outside", "drop", "--strands", "--count-duplicates", "--quiet"
    assert call("pileup", *files, *words).out == ""
    paths = [files[-1].with_name(f"a.{strand}.bw") for strand in ("plus", "minus")]
    entries = [sl.io.open_tracks(path).entries("chr1", 0, 200) for path in paths]
    assert [it.starts.tolist() for it in entries] == [[10], [59, 89]]
    assert [it.values.tolist() for it in entries] == [[3], [2, 1]]
    again = call("pileup", *files, *words)
    assert (again.code, "--overwrite replaces it" in again.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "line 3, byte 30 of the text: the genome has no contig"),
        (("--outside", "drop", "--shift", "auto"), "the bias motif is unclear"),
        (("--shift", "4"), 'shift must be "auto"'),
    ],
)
def test_what_is_unclear_is_an_error(call, files, words, message):
    said = call("pileup", *files, *words)
    assert said.code == 2
    assert message in " ".join(said.err.split())
    assert not files[-1].exists()
