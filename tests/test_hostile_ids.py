"""Ids that look like paths, options or formats are plain text everywhere."""

import numpy as np
import pytest

import embed_job
import seqloom as sl
from seqloom.errors import FormatError

LONG, RED, TURNED = "x" * 300, "\x1b[31mred", "\u202eab"
HOSTILE_PATHS = "../../up /absolute a/b .. . ~root C:\\x a\\..\\b a:b CON NUL.txt file:///x"
HOSTILE_WORDS = "$HOME `id` $(id) |cat ;rm * ? [a-z] %s%n {0} 'q' \" -rf --out ä"
HOSTILE_IDS = [*HOSTILE_PATHS.split(), *HOSTILE_WORDS.split(), LONG, RED, TURNED]
PROTEIN_ENCODER = sl.encode.OneHot("protein")


@pytest.fixture
def folder(tmp_path):
    """The only folder to which the test may write, and a file of hostile ids."""
    (tmp_path / "in").mkdir()
    sl.io.write_sequences(tmp_path / "in/a.fa", [(name, "MKVL") for name in HOSTILE_IDS])
    return tmp_path / "in"


def index(folder):
    made = sl.io.SequenceIndex(folder / "a.fa")
    made.write_fai()
    return [made[name].id for name in HOSTILE_IDS]


def cache(folder):
    data = sl.data.SequenceDataset(folder / "a.fa", encoder=PROTEIN_ENCODER)
    cached = sl.data.cached(data, folder / "cache")
    return [item["id"] for item in cached]


def embed(folder):
    embed_job.run(folder / "a.fa", folder / "embeddings")
    return sl.infer.load(folder / "embeddings").ids


def scores(folder):
    values = np.full((len(HOSTILE_IDS), 2), 0.5)
    sl.infer.Scores(HOSTILE_IDS, ("no", "yes"), values).to_tsv(folder / "scores.tsv")
    return sl.infer.Scores.read_tsv(folder / "scores.tsv").ids


def sequences(folder):
    with sl.io.open_sequences(folder / "a.fa") as reader:
        sl.io.write_sequences(folder / "b.fa.gz", reader)
    with sl.io.open_sequences(folder / "b.fa.gz") as reader:
        return [record.id for record in reader]


@pytest.mark.parametrize("write", [index, cache, embed, scores, sequences])
def test_a_record_id_is_never_part_of_a_file_path(folder, write):
    before = set(folder.parent.iterdir())
    assert list(write(folder)) == HOSTILE_IDS
    assert set(folder.parent.iterdir()) == before
    top = {path.name for path in folder.iterdir()}
    assert top <= {
        "a.fa",
        "a.fa.sli",
        "a.fa.fai",
        "b.fa.gz",
        "cache",
        "embeddings",
        "scores.tsv",
    }
    assert not {path.stem for path in folder.rglob("*")} & set(HOSTILE_IDS)


def encode_all(path):
    """Read and encode a file."""
    return list(sl.data.SequenceDataset(path, encoder=PROTEIN_ENCODER))


@pytest.mark.parametrize("letters", ["MK VL", "MK1VL"])
@pytest.mark.parametrize("name", HOSTILE_IDS)
def test_an_error_escapes_control_characters_of_an_id(tmp_path, name, letters):
    (tmp_path / "a.fa").write_text(f">{name}\n{letters}\n", encoding="utf-8")
    with pytest.raises(FormatError) as caught:
        encode_all(tmp_path / "a.fa")
    shown = name if name.isprintable() else repr(name)[1:-1]
    assert f"({shown[:40]}" in str(caught.value)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("name", ["a\0b", "a\nb", "a\rb", ""])
def test_an_id_that_cannot_be_read_back_is_not_written(tmp_path, name):
    with pytest.raises(FormatError, match=r"a\.fa: record 0 .*(header|id)"):
        sl.io.write_sequences(tmp_path / "a.fa", [(name, "MKVL")])
    assert not list(tmp_path.iterdir())
