"""Tests that a network trained on a GPU has the same scores after export and loading."""

from typing import Any

import numpy as np
import pytest

import cuda_device
import seqloom as sl
from fit_arguments import as_arguments

torch: Any = pytest.importorskip("torch")

pytestmark = cuda_device.on_device


@pytest.fixture(params=cuda_device.BACKEND_NAMES)
def trained(request, toy, small, tmp_path):
    """A run folder, its export, and the scores from the GPU."""
    cuda_device.backend(request.param)
    options: dict[str, Any] = {"epochs": 2, "report": False, "backend": request.param}
    run = sl.train.fit(small, toy(), **as_arguments(out=tmp_path / "run", **options))
    toy(30, name="new", labels=None)
    sl.export.save(run.trained, tmp_path / "exported")
    with cuda_device.whole_float32(request.param):
        scores = sl.infer.predict(run.trained, tmp_path / "new.fa")
    return tmp_path, request.param, scores


def test_an_exported_model_has_the_scores_of_the_gpu(trained):
    folder, _, scores = trained
    found = sl.infer.predict(folder / "exported", folder / "new.fa")
    assert found.ids == scores.ids
    np.testing.assert_allclose(found.to_numpy(), scores.to_numpy(), rtol=1e-4, atol=1e-5)


def test_a_run_loaded_onto_a_gpu_has_the_scores_of_the_cpu(trained):
    folder, name, scores = trained
    with cuda_device.whole_float32(name):
        model = sl.models.load(folder / "run", backend=name)
        found = sl.infer.predict(model, folder / "new.fa")
    np.testing.assert_allclose(found.to_numpy(), scores.to_numpy(), rtol=1e-4, atol=1e-5)
