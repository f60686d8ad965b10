"""The published weights of ESM-2 give the numbers that the tests of transformers expect.

The numbers are from test_inference_masked_lm and test_inference_no_head in the file
tests/models/esm/test_modeling_esm.py of github.com/huggingface/transformers.
"""

import os
from pathlib import Path

import numpy as np
import pytest

import seqloom as sl

NETWORK_NAME = "esm2_t6_8M_UR50D"
NETWORK_FOLDER = Path(
    os.environ.get("SEQLOOM_ESM2_8M")
    or Path(os.environ.get("SEQLOOM_DATA", "/nonexistent")) / NETWORK_NAME
)
PUBLISHED_LOGITS = [
    [8.9215, -10.5898, -6.4671],
    [-6.3967, -13.9114, -1.1212],
    [-7.7812, -13.9516, -3.7406],
]
PUBLISHED_HIDDEN_STATES = [
    [0.1444, 0.5413, 0.3248],
    [0.3034, 0.0053, 0.3108],
    [0.3228, -0.2499, 0.3415],
]

pytestmark = pytest.mark.skipif(
    not (NETWORK_FOLDER / "config.json").exists(),
    reason=f"neither SEQLOOM_ESM2_8M nor SEQLOOM_DATA names a folder of {NETWORK_NAME}",
)


@pytest.fixture(scope="module", params=["numpy", "torch"])
def model(request):
    return sl.models.ESM2.load(NETWORK_FOLDER, request.param)


def test_esm2_logits_equal_the_published_logits(model):
    # Token 1 is padding. The test of transformers passes no mask, so padding is not
    # masked.
    ids = np.array([0, 1, 2, 3, 4, 5])
    logits = model.logits(model(ids)).numpy()
    np.testing.assert_allclose(logits[:3, :3], PUBLISHED_LOGITS, rtol=1e-4, atol=1e-4)


def test_esm2_hidden_states_equal_the_published_states(model):
    ids = np.array([0, 6, 4, 13, 5, 4, 16, 12, 11, 7, 2])
    hidden = model(ids).numpy()
    np.testing.assert_allclose(
        hidden[:3, :3], PUBLISHED_HIDDEN_STATES, rtol=1e-4, atol=1e-4
    )
