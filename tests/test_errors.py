import copy
import pickle

import pytest

from seqloom import errors


def test_a_pickled_alphabet_error_keeps_its_position():
    error = errors.AlphabetError("J", record=3, position=4, character="J", expected="ACGT")
    error.path, error.line, error.byte = "a.fa", 7, 90
    found = pickle.loads(pickle.dumps(error))  # noqa: S301 - ours
    assert vars(found) == vars(error)
    assert str(found) == "J"


def test_the_former_name_of_alphabet_error_warns():
    with pytest.warns(DeprecationWarning, match="LetterError is now AlphabetError"):
        assert errors.LetterError is errors.AlphabetError
    with pytest.warns(DeprecationWarning, match="character"):
        error = errors.AlphabetError("J", letter="J")
    assert error.character == "J"
    with pytest.warns(DeprecationWarning, match=r"AlphabetError\.character"):
        assert error.letter == "J"


@pytest.mark.parametrize(
    ("ours", "builtin"),
    [
        (errors.MissingFileError, FileNotFoundError),
        (errors.FileError, OSError),
        (errors.FormatError, ValueError),
        (errors.LabelError, ValueError),
        (errors.OutOfRangeError, IndexError),
        (errors.RunFolderError, FileExistsError),
        (errors.MissingExtraError, ImportError),
        (errors.MemoryLimitError, MemoryError),
    ],
)
def test_an_error_derives_from_the_expected_builtin(ours, builtin):
    assert issubclass(ours, errors.SeqloomError)
    assert issubclass(ours, builtin)


def test_a_missing_file_error_prints_only_its_message():
    assert (
        str(copy.copy(errors.MissingFileError("a.fa: no such file")))
        == "a.fa: no such file"
    )


def every_error(kind=errors.SeqloomError):
    """Return a class and all its subclasses."""
    below = (each for child in kind.__subclasses__() for each in every_error(child))
    return {kind, *below}


@pytest.mark.parametrize("kind", sorted(every_error(), key=str))
def test_a_message_escapes_terminal_control_characters(kind):
    error = kind("no record \x1b[31m\u202eid\udcff\nerror: none")
    shown = r"no record \x1b[31m\u202eid\xff\nerror: none"
    lines = shown.replace(r"\n", "\n")
    assert str(error) == (lines if kind is errors.WorkerError else shown)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)  # noqa: S301 - ours
