import numpy as np
import pytest

from seqloom.encode import OneHot, Quality
from seqloom.errors import ShapeError

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("unknown", ["zeros", "uniform", "fractional"])
def test_bfloat16_values_agree_with_pytorch(unknown):
    texts = ["ACGTNRYBD" * 20, "ACGTA"]
    single = OneHot("dna", unknown=unknown).batch(texts, length=200)
    short = OneHot("dna", unknown=unknown, dtype="bfloat16").batch(texts, length=200)
    assert short.dtype is torch.bfloat16
    assert torch.equal(short, torch.from_numpy(single).bfloat16())


def test_bfloat16_probabilities_are_rounded_to_even():
    text = "".join(map(chr, range(33, 127)))
    double = Quality(values="error_probability", dtype="float32")(text)
    short = Quality(values="error_probability", dtype="bfloat16")(text)
    assert torch.equal(short, torch.from_numpy(double).bfloat16())


def test_an_encoder_can_write_into_a_pytorch_tensor():
    encode = OneHot("dna", dtype="bfloat16")
    out = torch.full((1, 4, 3), 7, dtype=torch.bfloat16)
    assert encode.batch(["ACG"], out=out) is out
    assert torch.equal(out[0, :3].float(), torch.eye(3))
    plain = torch.full((1, 4, 3), 7.0)
    assert OneHot("dna").batch(["ACG"], out=plain) is plain
    assert torch.equal(plain[0, :3], torch.eye(3))


@pytest.mark.parametrize(
    "out",
    [
        np.zeros((1, 4, 3), np.float32),
        torch.zeros((1, 4, 3)),
        torch.zeros((1, 4, 4), dtype=torch.bfloat16),
        torch.zeros((1, 3, 4), dtype=torch.bfloat16).mT,
    ],
)
def test_encoding_into_a_tensor_of_wrong_shape_or_dtype_is_an_error(out):
    with pytest.raises(ShapeError, match="bfloat16"):
        OneHot("dna", dtype="bfloat16").batch(["ACG"], out=out)


def test_bfloat16_tensors_can_be_decoded():
    encode = OneHot("dna", dtype="bfloat16", unknown="fractional")
    assert encode.decode(encode.batch(["ACGTNRY"])) == [b"ACGTNRY"]
