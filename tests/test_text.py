"""Text from files is escaped before it is printed."""

import pytest
from hypothesis import given, strategies as st

from seqloom._text import parse_decimal, parse_integer, printable

ANY_TEXT = st.text(st.characters(exclude_categories=()))


@given(ANY_TEXT)
def test_printable_text_contains_no_control_characters(text):
    assert printable(text).isprintable()
    assert printable(text, lines=True).replace("\n", "").isprintable()


@given(ANY_TEXT)
def test_escaped_text_is_not_escaped_again(text):
    assert printable(printable(text)) == printable(text)


@given(ANY_TEXT)
def test_printable_characters_are_unchanged(text):
    kept = "".join(filter(str.isprintable, text))
    assert printable(kept) == kept


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("\x9b31m", r"\x9b31m"),
        ("a\nb\tc\r", r"a\nb\tc\r"),
        ("\u202eabc\u2066", r"\u202eabc\u2066"),
        ("b\udcff", r"b\xff"),
        ("\ud800", r"\ud800"),
        ("Ä 漢 😀", "Ä 漢 😀"),
    ],
)
def test_characters_are_escaped_like_in_python(text, shown):
    assert printable(text) == shown


def test_numbers_are_parsed_from_the_digits_0_to_9():
    assert (parse_decimal("-1.5e3"), parse_integer("-15")) == (-1500.0, -15)
    for text in ("1_000", "\u0661"):
        for parse in (parse_decimal, parse_integer):
            with pytest.raises(ValueError, match=text):
                parse(text)
