"""Gradients of ESM-2 match those of the Hugging Face network in PyTorch."""

import numpy as np
import pytest
import torch

import seqloom as sl
from esm_networks import draw_proteins, make_huggingface
from seqloom.models._esm2_folder import list_transformers_names
from seqloom.nn import functional as F

RANDOM_PROTEINS = draw_proteins((9, 30, 17))
TARGET_TOKENS = np.random.default_rng(1).integers(4, 24, sum(RANDOM_PROTEINS.lengths))


@pytest.fixture(scope="module")
def theirs():
    return make_huggingface("8M", layers=2)


@pytest.fixture(scope="module")
def expected(theirs):
    """Return the gradients of the masked-token loss plus the sum of contacts."""
    ids, mask = torch.tensor(RANDOM_PROTEINS.padded()), torch.tensor(RANDOM_PROTEINS.mask)
    logits = theirs(ids, attention_mask=mask.long()).logits[mask]
    loss = torch.nn.functional.cross_entropy(logits, torch.tensor(TARGET_TOKENS))
    for length, row in zip(RANDOM_PROTEINS.lengths, ids, strict=True):
        alone = row[None, :length]
        loss = loss + theirs.predict_contacts(alone, torch.ones_like(alone)).sum()
    loss.backward()
    return {
        name.removeprefix("esm."): part.grad.numpy()
        for name, part in theirs.named_parameters()
        if part.grad is not None
    }


def loss(model, form):
    if form == "packed":
        inputs = RANDOM_PROTEINS.packed
        logits = model.logits(model(*inputs))
    else:
        inputs = (RANDOM_PROTEINS.padded(),)
        rows = np.flatnonzero(RANDOM_PROTEINS.mask)
        hidden = model(*inputs).reshape(-1, 320)
        logits = model.logits(hidden)[model.backend.tensor(rows)]
    contacts = [x.sum() for x in model.contacts(*inputs)]
    return F.cross_entropy(logits, TARGET_TOKENS) + sum(contacts[1:], contacts[0])


@pytest.mark.parametrize("form", ["packed", "padded"])
@pytest.mark.parametrize(
    "backend", ["numpy", "torch", pytest.param("jax", marks=pytest.mark.soak)]
)
def test_esm2_gradients_match_huggingface_for_all_parameters(
    theirs, expected, tmp_path, backend, form
):
    theirs.save_pretrained(tmp_path)
    one = sl.tensor.backend(backend, num_threads=1)
    model = sl.models.ESM2.load(tmp_path, one)
    _, gradients = sl.nn.value_and_grad(loss)(model, form)
    for path, parameter in model.parameters():
        truth = np.concatenate([expected[name] for name in list_transformers_names(path)])
        found = gradients.wrt(parameter).numpy()
        assert np.abs(found - truth).max() < 1e-4 * max(1, np.abs(truth).max()), path
        assert np.abs(truth).max() > 0
