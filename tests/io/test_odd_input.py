"""The result for each odd input of docs/concepts/odd-input.md."""

import re
from pathlib import Path

import pytest
from Bio import SeqIO
from hypothesis import HealthCheck, given, settings, strategies as st

import seqloom as sl
from fastx import COMPRESSORS, Trickle, read
from seqloom.errors import FormatError

CHUNK_SIZES = (1, 2, 3, 7, 1 << 20)
UNUSUAL_INPUT_PAGE = Path(__file__).parents[2] / "docs/concepts/odd-input.md"


def fasta(*records):
    """Return rows of FASTA: id or header, and sequence."""
    return [(head.encode("latin-1"), letters, None) for head, letters in records]


def fastq(*records):
    """Return rows of FASTQ: header, sequence and qualities."""
    return [
        (head.encode("latin-1"), letters, quality) for head, letters, quality in records
    ]


ONE_FASTA_RECORD = fasta(("a", b"ACGT"))
ONE_FASTQ_RECORD = fastq(("a", b"ACGT", b"IIII"))
TWO_FASTA_RECORDS = fasta(("a", b"ACGT"), ("b", b"GG"))
UNUSUAL_FASTA = {
    "lines that end in CRLF": (b">a\r\nAC\r\nGT\r\n", ONE_FASTA_RECORD),
    "a lone carriage return in a header": (b">a\rx\nACGT\n", "header"),
    "a lone carriage return in a sequence": (b">a\nAC\rGT\n", "letter"),
    "a byte order mark": (b"\xef\xbb\xbf>a\nACGT\n", ONE_FASTA_RECORD),
    "half a byte order mark": (b"\xef\xbb>a\nACGT\n", "format"),
    "NUL in a header": (b">a\0\nACGT\n", "header"),
    "NUL in a sequence": (b">a\nAC\0GT\n", "letter"),
    "blank lines before the first record": (b"\n\r\n>a\nACGT\n", ONE_FASTA_RECORD),
    "a blank line after a header": (b">a\n\nACGT\n", ONE_FASTA_RECORD),
    "a blank line within a sequence": (b">a\nAC\n\r\nGT\n", ONE_FASTA_RECORD),
    "blank lines between records": (b">a\nACGT\n\n\n>b\nGG\n", TWO_FASTA_RECORDS),
    "blank lines at the end": (b">a\nACGT\n\n\n", ONE_FASTA_RECORD),
    "white space at the end of a line": (b">a\nAC \t\nGT  \n", ONE_FASTA_RECORD),
    "a space inside a sequence": (b">a\nAC GT\n", "letter"),
    "a space before a sequence": (b">a\n ACGT\n", "letter"),
    "a tab inside a sequence": (b">a\nAC\tGT\n", "letter"),
    "a form feed inside a sequence": (b">a\nAC\x0cGT\n", "letter"),
    "a vertical tab inside a sequence": (b">a\nAC\x0bGT\n", "letter"),
    "a ; comment before the first record": (b";c\n>a\nACGT\n", "format"),
    "a # comment before the first record": (b"#c\n>a\nACGT\n", "format"),
    "a ; comment within a record": (b">a\nAC\n;c\nGT\n", "comment"),
    "an empty id": (b">\nACGT\n", "header"),
    "a header of white space": (b"> \t\nACGT\n", "header"),
    "a header that begins with a space": (b"> a b\nACGT\n", fasta((" a b", b"ACGT"))),
    "a header that begins with a tab": (b">\ta\nACGT\n", fasta(("\ta", b"ACGT"))),
    "an empty sequence": (b">a\n>b\nGG\n", fasta(("a", b""), ("b", b"GG"))),
    "an empty sequence at the end": (b">a\nACGT\n>b", fasta(("a", b"ACGT"), ("b", b""))),
    "a duplicate id": (b">a\nAC\n>a\nGT\n", fasta(("a", b"AC"), ("a", b"GT"))),
    "> in a description": (b">a b>c >d\nACGT\n", fasta(("a b>c >d", b"ACGT"))),
    "> within a line of a sequence": (b">a\nAC>b\nGG\n", "letter"),
    "a tab in a header": (b">a\tb\nACGT\n", fasta(("a\tb", b"ACGT"))),
    "a header that is not UTF-8": (b">a caf\xe9\nACGT\n", fasta(("a caf\xe9", b"ACGT"))),
    "a header of more than 1 MiB": (b">" + b"a" * (1 << 20) + b"a\nACGT\n", "limit"),
    "a non-ASCII character": (b">a\nAC\xc3\x84GT\n", "letter"),
    "no newline at the end": (b">a\nACGT", ONE_FASTA_RECORD),
    "lower case, gaps, asterisks and digits": (b">a\nac-.*1\n", fasta(("a", b"ac-.*1"))),
    "residues before the first header": (b"ACGT\n>a\nACGT\n", "format"),
    "an empty file": (b"", "format"),
    "only blank lines": (b"\n\r\n\n", "format"),
}
UNUSUAL_FASTQ = {
    "lines that end in CRLF": (b"@a\r\nACGT\r\n+\r\nIIII\r\n", ONE_FASTQ_RECORD),
    "a lone carriage return in a header": (b"@a\rx\nACGT\n+\nIIII\n", "header"),
    "a lone carriage return in a sequence": (b"@a\nAC\rGT\n+\nIIII\n", "letter"),
    "a lone carriage return in qualities": (b"@a\nACGT\n+\nII\rII\n", "quality"),
    "a byte order mark": (b"\xef\xbb\xbf@a\nACGT\n+\nIIII\n", ONE_FASTQ_RECORD),
    "NUL in a header": (b"@a\0\nACGT\n+\nIIII\n", "header"),
    "NUL in a sequence": (b"@a\nA\0GT\n+\nIIII\n", "letter"),
    "NUL in qualities": (b"@a\nACGT\n+\nI\0II\n", "quality"),
    "blank lines before the first record": (b"\n\n@a\nACGT\n+\nIIII\n", ONE_FASTQ_RECORD),
    "blank lines between records": (
        b"@a\nACGT\n+\nIIII\n\n\n@a\nACGT\n+\nIIII\n",
        ONE_FASTQ_RECORD + ONE_FASTQ_RECORD,
    ),
    "a blank line after a header": (b"@a\n\nACGT\n+\nIIII\n", "letter"),
    "a blank line after the sequence": (b"@a\nACGT\n\n+\nIIII\n", "letter"),
    "a blank line after the + line": (b"@a\nACGT\n+\n\nIIII\n", "length"),
    "blank lines at the end": (b"@a\nACGT\n+\nIIII\n\n\r\n", ONE_FASTQ_RECORD),
    "a sequence and qualities in several lines": (
        b"@a\nAC\nGT\n+\nI\nIII\n",
        ONE_FASTQ_RECORD,
    ),
    "@ as the first quality": (
        b"@a\nACGT\n+\n@III\n@b\nGG\n+\nII\n",
        fastq(("a", b"ACGT", b"@III"), ("b", b"GG", b"II")),
    ),
    "+ as the first quality": (b"@a\nACGT\n+\n+III\n", fastq(("a", b"ACGT", b"+III"))),
    "@ as the first quality of a second line": (
        b"@a\nACGT\n+\nII\n@I\n",
        fastq(("a", b"ACGT", b"II@I")),
    ),
    "a + line that repeats the header": (
        b"@a x\nACGT\n+a x\nIIII\n",
        fastq(("a x", b"ACGT", b"IIII")),
    ),
    "a + line with a different header": (b"@a\nACGT\n+b\nIIII\n", "names"),
    "an empty id": (b"@\nACGT\n+\nIIII\n", "header"),
    "a header of white space": (b"@ \nACGT\n+\nIIII\n", "header"),
    "a header that begins with a space": (
        b"@ a\nACGT\n+\nIIII\n",
        fastq((" a", b"ACGT", b"IIII")),
    ),
    "lines of white space before the first record": (
        b" \n\t\n@a\nACGT\n+\nIIII\n",
        ONE_FASTQ_RECORD,
    ),
    "lines of white space between records": (
        b"@a\nACGT\n+\nIIII\n \t\n@a\nACGT\n+\nIIII\n",
        ONE_FASTQ_RECORD + ONE_FASTQ_RECORD,
    ),
    "lines of white space at the end": (b"@a\nACGT\n+\nIIII\n \n \t", ONE_FASTQ_RECORD),
    "an empty sequence": (
        b"@a\n\n+\n\n@b\nGG\n+\nII\n",
        fastq(("a", b"", b""), ("b", b"GG", b"II")),
    ),
    "a duplicate id": (b"@a\nACGT\n+\nIIII\n" * 2, ONE_FASTQ_RECORD + ONE_FASTQ_RECORD),
    "fewer qualities than residues": (
        b"@a\nACGT\n+\nIII\n@b\nGG\n+\nII\n",
        "length",
    ),
    "more qualities than residues": (b"@a\nACGT\n+\nIIIII\n", "length"),
    "a space inside a sequence": (b"@a\nAC GT\n+\nIIIII\n", "letter"),
    "a space inside qualities": (b"@a\nACGT\n+\nI II\n", "quality"),
    "a space after a sequence": (b"@a\nACGT \n+\nIIII\n", "letter"),
    "a space after qualities": (b"@a\nACGT\n+\nIIII \n", "quality"),
    "a tab in a header": (b"@a\tb\nACGT\n+\nIIII\n", fastq(("a\tb", b"ACGT", b"IIII"))),
    "a header that is not UTF-8": (
        b"@a\xe9\nACGT\n+\nIIII\n",
        fastq(("a\xe9", b"ACGT", b"IIII")),
    ),
    "a header of more than 1 MiB": (b"@" + b"a" * (1 << 20) + b"a\nAC\n+\nII\n", "limit"),
    "DEL as a quality": (b"@a\nACGT\n+\nII\x7fI\n", "quality"),
    "a non-ASCII character": (b"@a\nAC\xc3\x84\n+\nIIII\n", "letter"),
    "no newline at the end": (b"@a\nACGT\n+\nIIII", ONE_FASTQ_RECORD),
    "an end of file inside a header": (b"@a\nACGT\n+\nIIII\n@b", "cut"),
    "an end of file after a sequence": (b"@a\nACGT\n", "cut"),
    "an end of file after the + line": (b"@a\nACGT\n+\n", "cut"),
    "an end of file inside qualities": (b"@a\nACGT\n+\nII", "cut"),
    "a record without + and qualities": (b"@a\nACGT\n@b\nGG\n+\nII\n", "cut"),
    "text after a record": (b"@a\nACGT\n+\nIIII\nhello\n", "header"),
    "a # comment before the first record": (b"#c\n@a\nACGT\n+\nIIII\n", "format"),
}
UNUSUAL_INPUT_NAMES = [("fasta", name) for name in UNUSUAL_FASTA] + [
    ("fastq", name) for name in UNUSUAL_FASTQ
]
UNUSUAL_INPUTS = {"fasta": UNUSUAL_FASTA, "fastq": UNUSUAL_FASTQ}


@pytest.mark.parametrize(
    ("kind", "name"), UNUSUAL_INPUT_NAMES, ids=[f"{k}: {n}" for k, n in UNUSUAL_INPUT_NAMES]
)
def test_unusual_input_is_read_equally_in_any_compression_and_chunk_size(kind, name):
    text, verdict = UNUSUAL_INPUTS[kind][name]
    sizes = CHUNK_SIZES if len(text) < 1000 else CHUNK_SIZES[-1:]
    for container, pack in COMPRESSORS.items():
        for size in sizes:
            found = judge(Trickle(pack(text), size))
            assert found == verdict, (container, size)


@pytest.mark.parametrize(
    ("kind", "name"), UNUSUAL_INPUT_NAMES, ids=[f"{k}: {n}" for k, n in UNUSUAL_INPUT_NAMES]
)
def test_every_unusual_input_is_documented(kind, name):
    (row,) = re.findall(rf"^\| {re.escape(name)} \|(.*)\|$", section(kind), re.MULTILINE)
    verdict = UNUSUAL_INPUTS[kind][name][1]
    assert row.strip().startswith("accepted" if isinstance(verdict, list) else "error")


def test_the_page_on_unusual_input_lists_only_tested_cases():
    for kind, cases in UNUSUAL_INPUTS.items():
        names = re.findall(r"^\| (.*?) \| (?:accepted|error)", section(kind), re.MULTILINE)
        assert set(names) == set(cases)


def section(kind):
    """Return the sections of the page about one format."""
    parts = re.split(
        r"^## ", UNUSUAL_INPUT_PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    return "".join(part for part in parts if kind.upper() in part.partition("\n")[0])


def judge(origin):
    """Return the records of a file, or the kind of its error."""
    try:
        return read(origin)
    except FormatError as error:
        return error.kind


@pytest.mark.parametrize("text", [b";c\n>a\nACGT\n", b"#c\n>a\nAC\n;x\nGT\n"])
def test_the_option_comments_skip_skips_comment_lines(text):
    assert read(Trickle(text, 1), comments="skip") == ONE_FASTA_RECORD


@pytest.mark.parametrize("text", [b">a\nAC GT\n", b">a\n A C\tG T \n"])
def test_the_option_whitespace_strip_removes_white_space(text):
    assert read(Trickle(text, 1), whitespace="strip") == ONE_FASTA_RECORD


def test_a_quality_below_the_given_encoding_is_an_error():
    text = b"@a\nACGT\n+\nhh;h\n"
    assert read(Trickle(text, 1), quality="solexa") == fastq(("a", b"ACGT", b"hh;h"))
    with pytest.raises(
        FormatError, match=r"record 0 .*line 4, byte 12 of the text: .*'@' to '~'"
    ):
        read(Trickle(text, 1), quality="phred64")


FASTA_WITHOUT_IDS = b"> first\nAC\n>\nGT\n>\t \nTT\n>d\nGG\n"


@pytest.mark.parametrize("size", CHUNK_SIZES)
def test_the_option_ids_number_numbers_fasta_headers_without_ids(size):
    wanted = fasta((" first", b"AC"), ("1", b"GT"), ("2", b"TT"), ("d", b"GG"))
    assert read(Trickle(FASTA_WITHOUT_IDS, size), ids="number") == wanted


@pytest.mark.parametrize("size", CHUNK_SIZES)
def test_the_option_ids_number_numbers_fastq_headers_without_ids(size):
    text = b"@\nAC\n+\nII\n@ \nGT\n+\nII\n"
    wanted = fastq(("0", b"AC", b"II"), ("1", b"GT", b"II"))
    assert read(Trickle(text, size), ids="number") == wanted


RANDOM_HEADERS = st.text(st.sampled_from("ab \t\x0b\x0c"), max_size=5)


@settings(
    deadline=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(headers=st.lists(RANDOM_HEADERS.filter(str.strip), min_size=1, max_size=6))
def test_every_reader_takes_the_first_word_of_a_header_as_id(tmp_path, headers):
    file = tmp_path / "a.fa"
    file.write_text("".join(f">{header}\nACGT\n" for header in headers), newline="\n")
    Path(f"{file}.sli").unlink(missing_ok=True)
    words = [header.split()[0] for header in headers]
    with file.open(newline="\n") as lines:
        assert [record.id for record in SeqIO.parse(lines, "fasta")] == words
    with sl.io.open_sequences(file) as reader:
        assert [record.id for record in reader] == words
    with sl.io.open_sequences(file) as reader:
        assert [name for batch in reader.batches(2) for name in batch.ids] == words
    index = sl.io.SequenceIndex(file)
    assert index.ids == words
    for word in {word for word in words if words.count(word) == 1}:
        assert index.row(word) == words.index(word)
    assert sl.io.inspect(file).duplicate_ids == len(words) - len(set(words))
    assert list(sl.data.SequenceDataset(file).ids_of(range(len(words)))) == words


def test_a_record_with_blanks_before_its_id_is_found_by_id(tmp_path):
    (tmp_path / "a.fa").write_text("> 6400 TATA\nACGT\nAC\n>\t6401\nGGTT\n")
    index = sl.io.SequenceIndex(tmp_path / "a.fa")
    fai, *_ = index.write_fai()
    names = [line.split("\t")[0] for line in fai.read_text().splitlines()]
    assert names == ["6400", "6401"]
    assert index.fetch("6400", 2, 6) == b"GTAC"
    (tmp_path / "a.bed").write_text("6401\t1\t3\n")
    data = sl.data.IntervalDataset(tmp_path / "a.fa", tmp_path / "a.bed")
    assert data[0]["sequence"] == b"GT"


def test_a_record_that_was_read_is_written_with_its_header(tmp_path):
    (tmp_path / "a.fa").write_bytes(b"> 6400 x\nACGT\n")
    with sl.io.open_sequences(tmp_path / "a.fa") as reader:
        sl.io.write_sequences(tmp_path / "b.fa", reader)
    assert (tmp_path / "b.fa").read_bytes() == b"> 6400 x\nACGT\n"


def test_writing_a_sequence_record_without_an_id_is_an_error(tmp_path):
    record = sl.io.SequenceRecord(" ", "x", b"ACGT")
    with pytest.raises(FormatError, match="expected an id"):
        sl.io.write_sequences(tmp_path / "b.fa", [record])
