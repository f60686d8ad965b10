import pytest

from seqloom import _demo
from seqloom.data import guess_alphabet
from seqloom.errors import AlphabetError, ArgumentError


@pytest.mark.parametrize(
    ("letters", "alphabet"),
    [
        ("ACGTN" * 200, "dna"),
        ("acgt" * 250, "dna"),
        ("ACGT" * 300 + "RYK", "dna"),
        ("ACGUN", "rna"),
        ("MEEPQSDPSV", "protein"),
        ("MKT*", "protein"),
        ("ACDGHKMNRSTVWY" * 100, "protein"),
    ],
    ids=[
        "dna",
        "lower case",
        "codes",
        "rna",
        "protein",
        "stop",
        "codes that are amino acids",
    ],
)
def test_the_alphabet_is_guessed_from_the_residues(fasta, letters, alphabet):
    assert guess_alphabet(fasta({"a": letters})) == alphabet


@pytest.mark.parametrize("letters", ["ACGT", "ACGTN" * 199, "MKRTGVSD"])
def test_sequences_of_an_ambiguous_alphabet_need_the_option_alphabet(fasta, letters):
    with pytest.raises(
        ArgumentError, match=r"a\.fa: DNA and protein both .*--alphabet dna"
    ):
        guess_alphabet(fasta({"a": letters}))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.fa"


# 40 records of 60 bases, which is enough to exclude proteins.
DNA_SEQUENCE = "ACGTTGCAAC" * 6
RECORD_COUNT = 40


def write_with(path, letter, *, base="T", at=(27, 33)):
    """Write sequences with one invalid character; return the character's line and byte."""
    rows = [DNA_SEQUENCE.replace("T", base)] * RECORD_COUNT
    record, position = at
    rows[record] = f"{rows[record][:position]}{letter}{rows[record][position + 1 :]}"
    text = "".join(f">r{i} of many\n{row}\n" for i, row in enumerate(rows))
    path.write_text(text)
    before = sum(len(f">r{i} of many\n") + 61 for i in range(record))
    return 2 * record + 2, before + len(f">r{record} of many\n") + position


@pytest.mark.parametrize("letter", "EFIJLOPQXZU*-.1jx")
def test_an_invalid_character_among_bases_is_an_error_with_its_position(path, letter):
    line, byte = write_with(path, letter)
    with pytest.raises(AlphabetError) as raised:
        guess_alphabet(path)
    error = raised.value
    assert (error.path, error.record, error.position) == (str(path), 27, 33)
    assert (error.line, error.byte, error.character) == (line, byte, letter)


def test_the_alphabet_error_reports_the_number_of_valid_residues(path):
    write_with(path, "J")
    said = r"record 27 \(r27\), .* expected dna, like 2,399 of 2,400 .*exceptions: J 1\)"
    with pytest.raises(AlphabetError, match=said):
        guess_alphabet(path)


def test_a_thymine_among_rna_is_an_error(path):
    write_with(path, "T", base="U")
    with pytest.raises(AlphabetError, match=r"found 'T', expected rna, .*--rna-as-dna"):
        guess_alphabet(path)


@pytest.mark.parametrize("symbols", ["zeros", "keep"])
@pytest.mark.parametrize("gap", "-.")
def test_gaps_do_not_affect_the_guess_of_the_alphabet(path, symbols, gap):
    write_with(path, gap)
    assert guess_alphabet(path, symbols=symbols) == "dna"


@pytest.mark.parametrize(
    ("letter", "remedy"),
    [
        ("J", "--alphabet protein"),
        ("-", "--symbols zeros"),
        ("U", "--rna-as-dna"),
        ("1", "correct the file$"),
    ],
)
def test_the_alphabet_error_names_an_option_that_accepts_the_character(
    path, letter, remedy
):
    write_with(path, letter)
    with pytest.raises(AlphabetError, match=f"{remedy}"):
        guess_alphabet(path)


def test_a_gap_in_a_protein_is_an_error_with_its_position(fasta):
    with pytest.raises(
        AlphabetError, match="line 2, byte 6 of the text: found '-', expected"
    ):
        guess_alphabet(fasta({"a": "MEE-PQSDPSV"}))


def test_dna_masked_with_x_is_not_guessed_as_protein(fasta):
    with pytest.raises(AlphabetError, match="found 'X', expected dna"):
        guess_alphabet(fasta({"a": "ACGT" * 20 + "X" * 900}))


def test_an_invalid_character_in_a_list_is_an_error_with_its_record():
    with pytest.raises(AlphabetError, match=r"record 1 \(b\), residue 4: found 'J'"):
        guess_alphabet({"id": ["a", "b"], "sequence": ["ACGT" * 300, "ACGTJACGT"]})


def test_the_alphabet_is_guessed_from_all_files(fasta):
    files = [fasta({"a": "ACGT" * 99}), fasta({"b": "MEEPQSD" * 99}, "b.fa")]
    assert guess_alphabet(files) == "protein"


def test_the_alphabet_of_the_demo_files_is_dna():
    assert (
        guess_alphabet(
            [_demo.example_path("train.fa.gz"), _demo.example_path("test.fa.gz")]
        )
        == "dna"
    )
