import numpy as np
import pytest
from Bio.SeqIO import QualityIO
from hypothesis import given, settings, strategies as st

from seqloom._config import JsonConfig
from seqloom.encode import Quality
from seqloom.errors import AlphabetError, ArgumentError

LOWEST_BYTE_OF_ENCODING = {"phred33": 33, "phred64": 64, "solexa": 59}
BYTE_OF_SCORE_ZERO = {"phred33": 33, "phred64": 64, "solexa": 64}
scales = st.sampled_from(sorted(LOWEST_BYTE_OF_ENCODING))


def random_qualities(data, scale):
    letters = st.integers(LOWEST_BYTE_OF_ENCODING[scale], 126).map(chr)
    return data.draw(st.text(letters, max_size=100))


@settings(max_examples=40)
@given(st.data(), scales)
def test_a_quality_score_is_the_byte_minus_the_offset_of_its_encoding(data, scale):
    text = random_qualities(data, scale)
    slow = [ord(letter) - BYTE_OF_SCORE_ZERO[scale] for letter in text]
    assert Quality(scale, dtype="int32")(text).tolist() == slow
    assert Quality(scale)(text).tolist() == slow


@settings(max_examples=40)
@given(st.data(), scales)
def test_error_probabilities_follow_the_phred_formula(data, scale):
    text = random_qualities(data, scale)
    slow = []
    for letter in text:
        score = ord(letter) - BYTE_OF_SCORE_ZERO[scale]
        phred = QualityIO.phred_quality_from_solexa(score) if scale == "solexa" else score
        slow.append(10 ** (-phred / 10))
    fast = Quality(scale, "error_probability", dtype="float64")(text)
    np.testing.assert_allclose(fast, slow, rtol=1e-9)


@settings(max_examples=40)
@given(st.data(), scales, st.sampled_from(["score", "error_probability"]))
def test_decode_restores_the_encoded_sequence(data, scale, values):
    text = random_qualities(data, scale)
    encode = Quality(scale, values, dtype="float64")
    array = encode.batch([text], length=100)
    assert encode.decode(array, lengths=[len(text)]) == [text.encode()]


@pytest.mark.parametrize("scale", LOWEST_BYTE_OF_ENCODING)
def test_a_quality_byte_below_its_encoding_is_an_error_with_its_position(scale):
    low = chr(LOWEST_BYTE_OF_ENCODING[scale] - 1)
    with pytest.raises(AlphabetError, match=f"a quality of {scale}") as caught:
        Quality(scale).batch(["hh", f"h{low}"])
    assert (caught.value.record, caught.value.position) == (1, 1)
    assert Quality(scale).refuses(
        bytes([LOWEST_BYTE_OF_ENCODING[scale] - 1, 100, 127])
    ) == bytes([LOWEST_BYTE_OF_ENCODING[scale] - 1, 127])


@pytest.mark.parametrize(
    "options",
    [
        {"encoding": "sanger"},
        {"values": "odds"},
        {"values": "error_probability", "dtype": "uint8"},
        {"encoding": "solexa", "dtype": "uint8"},
    ],
)
def test_an_invalid_option_of_the_quality_encoder_is_an_error(options):
    with pytest.raises(ArgumentError):
        Quality(**options)


def test_a_quality_encoder_from_json_equals_the_original():
    encode = Quality("phred64", "error_probability", dtype="float16")
    assert JsonConfig.from_json(encode.to_json()) == encode
