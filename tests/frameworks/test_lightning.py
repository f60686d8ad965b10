"""PyTorch Lightning can train with a seqloom loader."""

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from torch.utils.data import DataLoader as TorchLoader

import seqloom as sl

pytestmark = [
    # Warnings of Lightning on this version of PyTorch.
    pytest.mark.filterwarnings("ignore:`isinstance.treespec, LeafSpec.`:FutureWarning"),
    pytest.mark.filterwarnings("ignore:.*does not have many workers:UserWarning"),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]
WORKER_OPTIONS: dict[str, dict[str, Any]] = {
    "here": {},
    "two": {"num_workers": 2},
    "two that persist": {"num_workers": 2, "persistent_workers": True},
}
COLLATOR_NAMES = ["torch", "default", "pad", "varlen"]


@pytest.fixture
def users():
    """The module `lightning_users`; its import takes ten seconds."""
    return import_module("lightning_users")


@pytest.fixture
def ours(fed):
    """Return a seqloom loader with the named collator."""

    def make(name, **options):
        data, collate = fed(name)
        chosen: dict[str, Any] = {"batch_size": 4, "shuffle": True}
        if name == "torch":
            collate = None  # use the default collator of the loader
        if name == "varlen":
            fits = sl.data.TokenBudgetSampler(data, 40, include_padding=False)
            chosen = {"batch_sampler": fits}
        return sl.data.DataLoader(
            data, collate_fn=collate, output="torch", **chosen, **options
        )

    return make


def ids(batches):
    return [
        [*(batch["id"] if "id" in batch else batch["sequence_ids"])] for batch in batches
    ]


@pytest.mark.parametrize("workers", WORKER_OPTIONS)
@pytest.mark.parametrize("name", COLLATOR_NAMES)
def test_lightning_receives_every_batch_of_two_epochs(users, ours, tmp_path, name, workers):
    module = users.TinyLightning()
    users.lightning_trainer(tmp_path).fit(module, ours(name, **WORKER_OPTIONS[workers]))
    loader = ours(name)
    assert module.seen == [names for _ in range(2) for names in ids(loader)]


def test_lightning_accepts_the_packing_collator(users, fed, tmp_path):
    data, _ = fed("varlen")
    collate = sl.data.VarlenCollator(max_tokens=40, window=8)

    def loader():
        return sl.data.DataLoader(data, shuffle=True, collate_fn=collate, output="torch")

    module = users.TinyLightning()
    users.lightning_trainer(tmp_path).fit(module, loader())
    again = loader()
    assert module.seen == [names for _ in range(2) for names in ids(again)]


@pytest.mark.filterwarnings("ignore:You're resuming from a checkpoint:UserWarning")
@pytest.mark.parametrize("steps", [2, 5])
@pytest.mark.parametrize("name", COLLATOR_NAMES)
def test_lightning_resumes_from_a_checkpoint_within_an_epoch(
    users, ours, tmp_path, name, steps
):
    loader = ours(name)
    wanted = [names for _ in range(2) for names in ids(loader)]
    path = tmp_path / "mid.ckpt"
    users.lightning_trainer(tmp_path, callbacks=[users.SaveAfter(steps, path)]).fit(
        users.TinyLightning(), ours(name)
    )
    module = users.TinyLightning()
    users.lightning_trainer(tmp_path).fit(
        module, ours(name, num_workers=2), ckpt_path=path, weights_only=False
    )
    assert module.seen == wanted[steps:]


@pytest.mark.parametrize("name", ["default", "pad"])
def test_lightning_validates_with_a_seqloom_loader(users, ours, tmp_path, name):
    trainer = users.lightning_trainer(tmp_path, max_epochs=1)
    trainer.fit(users.TinyValidated(), ours(name), ours(name))
    assert trainer.callback_metrics["loss"] > 0


def test_lightning_trains_with_a_pytorch_loader_of_a_dataset(users, fed, tmp_path):
    data, collate = fed("pad")
    sampler: Any = sl.data.EpochSampler(data)
    module = users.TinyLightning()
    loader = TorchLoader(data, 4, sampler=sampler, collate_fn=collate)
    users.lightning_trainer(tmp_path).fit(module, loader)
    ours = sl.data.DataLoader(data, 4, shuffle=True, collate_fn=collate)
    assert module.seen == [names for _ in range(2) for names in ids(ours)]


def test_two_lightning_processes_split_each_epoch(sequences, tmp_path):
    file = sequences(None).paths[0]
    script = Path(__file__).with_name("ddp.py")
    paths = [str(script.parents[1]), *sys.path]
    subprocess.run(
        [sys.executable, script, file, tmp_path],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"},
        check=True,
        timeout=600,
        capture_output=True,
    )
    for name in ("ours", "theirs"):
        ranks = [json.loads((tmp_path / f"{name}{i}.json").read_text()) for i in range(2)]
        assert [world for _, world in ranks] == [2, 2]
        for epoch in range(2):
            parts = [seen[3 * epoch : 3 * epoch + 3] for seen, _ in ranks]
            names = [[one for batch in part for one in batch] for part in parts]
            assert sorted(names[0] + names[1]) == sorted(f"s{i}" for i in range(22))
