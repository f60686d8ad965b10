"""The loader returns a million sequences exactly once, although ids are duplicated."""

import numpy as np
import pytest

import loader_user as user
from seqloom.data import VarlenCollator, create_async_dataloader
from seqloom.encode import Tokens

SEQUENCES, DUPLICATED_IDS = 1_000_000, 1_000


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Write three FASTA files of different sizes; a thousand records share one id."""
    folder = tmp_path_factory.mktemp("million")
    rng = np.random.default_rng(0)
    names = np.arange(SEQUENCES)
    names[rng.choice(SEQUENCES, DUPLICATED_IDS, replace=False)] = 7
    lengths = rng.integers(5, 60, SEQUENCES)
    residues = np.frombuffer(b"ACDEFGHIKLMNPQRSTVWY", np.uint8)
    bounds = [0, 700_000, 950_000, SEQUENCES]
    paths = []
    for part in range(3):
        paths.append(folder / f"{part}.fa")
        with paths[-1].open("wb") as file:
            for i in range(bounds[part], bounds[part + 1]):
                row = residues[rng.integers(0, 20, lengths[i])].tobytes()
                file.write(b">p%d\n%b\n" % (names[i], row))
    return paths


def _count(files, workers, **options):
    """Return how often the loader returned each sequence."""
    collate = VarlenCollator(tokens=Tokens("esm2"), max_tokens=16_384)
    seen = np.zeros(SEQUENCES, np.uint8)
    loader = create_async_dataloader(
        files, collate, num_workers=workers, output="numpy", **options
    )
    for batch in loader:
        np.add.at(seen, batch["ordinals"], 1)
    loader.close()
    return seen


@pytest.mark.parametrize("workers", [0, 1, 2, 3, 4])
def test_a_loader_returns_a_million_sequences_exactly_once(files, workers):
    assert (_count(files, workers) == 1).all()


@pytest.mark.parametrize("workers", [1, 2, 3, 4])
def test_worker_processes_return_a_million_sequences_exactly_once(files, workers, tmp_path):
    seen = _count(files, workers, worker_init_fn=user.Marks(tmp_path))
    assert (seen == 1).all()
