"""Trainer of transformers, accelerate and datasets work with seqloom data."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from accelerate import Accelerator
from torch.utils.data import DataLoader as TorchLoader

import seqloom as sl
from trainers import Tiny, ids_of

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
COLLATOR_NAMES = [
    "torch",
    "default",
    pytest.param("pad", marks=pytest.mark.soak),
    pytest.param("varlen", marks=pytest.mark.soak),
]


class InOurOrder(transformers.Trainer):
    """A trainer with one overridden method, which returns a seqloom sampler."""

    def _get_train_sampler(self, train_dataset: Any = None) -> Any:
        data: Any = self.train_dataset if train_dataset is None else train_dataset
        return sl.data.EpochSampler(data, rank=0, world_size=1)


class WithOurLoader(transformers.Trainer):
    """A trainer that uses a seqloom loader."""

    def get_train_dataloader(self) -> Any:
        return our_loader(self.train_dataset, self.data_collator)


def our_loader(data, collate):
    options: dict[str, Any] = {"batch_size": 4, "shuffle": True}
    if isinstance(collate, sl.data.VarlenCollator):
        fits = sl.data.TokenBudgetSampler(data, 40, include_padding=False)
        options = {"batch_sampler": fits}
    return sl.data.DataLoader(data, collate_fn=collate, output="torch", **options)


def seen_by(loader):
    """Return the ordinals of two epochs."""
    return [
        batch["ordinal" if "ordinal" in batch else "ordinals"].tolist()
        for _ in range(2)
        for batch in loader
    ]


@pytest.fixture
def settings(tmp_path):
    def make(**options):
        quiet: dict[str, Any] = {
            "output_dir": str(tmp_path / "run"),
            "num_train_epochs": 2,
            "per_device_train_batch_size": 4,
            "use_cpu": True,
            "report_to": [],
            "disable_tqdm": True,
            "logging_strategy": "no",
            "save_strategy": "no",
            "remove_unused_columns": False,
            "label_names": ["label"],
        }
        return transformers.TrainingArguments(**{**quiet, **options})

    return make


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("name", COLLATOR_NAMES)
def test_hugging_face_trainer_trains_evaluates_and_predicts(fed, settings, name, workers):
    data, collate = fed(name)
    options = settings(
        dataloader_num_workers=workers, dataloader_persistent_workers=workers > 0
    )
    model = Tiny()
    trainer = transformers.Trainer(
        model, options, data_collator=collate, train_dataset=data, eval_dataset=data
    )
    trainer.train()
    ordinals = [item["ordinal"] for item in data]
    half = len(model.seen) // 2
    for epoch in (model.seen[:half], model.seen[half:]):
        assert sorted(row for rows in epoch for row in rows) == ordinals
    assert trainer.evaluate()["eval_loss"] > 0
    assert np.shape(trainer.predict(data).predictions) == (len(data), 2)


@pytest.mark.parametrize("kind", [InOurOrder, WithOurLoader])
@pytest.mark.parametrize(
    ("name", "steps"),
    [
        ("torch", 4),
        pytest.param("default", 2, marks=pytest.mark.soak),
        pytest.param("pad", 2, marks=pytest.mark.soak),
        ("varlen", 7),
    ],
)
def test_hugging_face_trainer_resumes_within_an_epoch(fed, settings, name, kind, steps):
    data, collate = fed(name)
    saving = settings(save_strategy="steps", save_steps=steps)
    if kind is InOurOrder and name == "varlen":
        wanted = seen_by(
            sl.data.DataLoader(data, 4, shuffle=True, collate_fn=collate.__call__)
        )
    else:
        wanted = seen_by(our_loader(data, collate))
    first, again = Tiny(), Tiny()
    kind(first, saving, data_collator=collate, train_dataset=data).train()
    assert first.seen == wanted
    rest = kind(again, settings(), data_collator=collate, train_dataset=data)
    rest.train(resume_from_checkpoint=str(Path(saving.output_dir, f"checkpoint-{steps}")))
    assert again.seen == wanted[steps:]


def test_accelerate_saves_and_loads_the_state_of_a_registered_loader(fed, tmp_path):
    data, collate = fed("pad")
    alone, loader = our_loader(data, collate), our_loader(data, collate)
    wanted = [ids_of(batch) for _ in range(2) for batch in alone]
    accelerator = Accelerator(cpu=True)
    accelerator.register_for_checkpointing(loader)
    batches = iter(accelerator.prepare(loader))
    seen = [ids_of(next(batches)) for _ in range(2)]
    accelerator.save_state(str(tmp_path / "state"))
    again = our_loader(data, collate)
    resumed = Accelerator(cpu=True)
    resumed.register_for_checkpointing(again)
    resumed.load_state(str(tmp_path / "state"))
    assert seen + [ids_of(batch) for _ in range(2) for batch in again] == wanted


def test_hugging_face_trainer_resumes_with_a_numpy_loader(sequences, settings):
    data = sequences(sl.encode.OneHot("dna"))[::2]
    saving = settings(save_strategy="steps", save_steps=2)
    wanted = seen_by(our_loader(data, None))

    class Resuming(transformers.Trainer):
        def get_train_dataloader(self) -> Any:
            return our_loader(self.train_dataset, None)

    first, again = Tiny(), Tiny()
    Resuming(first, saving, train_dataset=data).train()
    assert first.seen == wanted
    rest = Resuming(again, settings(), train_dataset=data)
    rest.train(resume_from_checkpoint=str(Path(saving.output_dir, "checkpoint-2")))
    assert again.seen == wanted[2:]


def test_a_transformers_model_trains_on_seqloom_tokens(sequences, settings):
    data = sequences(sl.encode.Tokens("dna"))
    pad = sl.data.PadCollator(encoder=data.encoder, output="torch")

    def collate(items):
        batch = pad(items)
        return {
            "input_ids": batch["inputs"],
            "attention_mask": batch["mask"],
            "labels": batch["label"],
        }

    config = transformers.BertConfig(
        vocab_size=32,
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=8,
    )
    model = transformers.BertForSequenceClassification(config)
    trainer = transformers.Trainer(
        model, settings(label_names=None), data_collator=collate, train_dataset=data
    )
    assert trainer.train().training_loss > 0
    assert np.shape(trainer.predict(data).predictions) == (22, 2)


@pytest.mark.parametrize("workers", [0, 2])
def test_accelerate_prepares_seqloom_and_pytorch_loaders(fed, workers):
    data, collate = fed("pad")
    options: dict[str, Any] = {"num_workers": workers, "persistent_workers": workers > 0}
    sampler: Any = sl.data.EpochSampler(data)
    theirs = TorchLoader(data, 4, sampler=sampler, collate_fn=collate, **options)
    ours = sl.data.DataLoader(
        data, 4, shuffle=True, collate_fn=collate, output="torch", **options
    )
    accelerator = Accelerator(cpu=True)
    alone = our_loader(data, collate)
    wanted = [ids_of(batch) for _ in range(2) for batch in alone]
    for loader in (ours, theirs):
        prepared = accelerator.prepare(loader)
        assert [ids_of(batch) for _ in range(2) for batch in prepared] == wanted
        assert isinstance(next(iter(prepared))["inputs"], torch.Tensor)


CREATE_DATASET_SCRIPT = """
import sys
import datasets
import seqloom as sl

data = sl.data.SequenceDataset(sys.argv[1], encoder=sl.encode.OneHot("dna"))
pad = sl.data.PadCollator()

def batches():
    yield from sl.data.DataLoader(data, 4, collate_fn=pad)

of_items = datasets.Dataset.from_generator(lambda: iter(data), cache_dir=sys.argv[2])
of_batches = datasets.Dataset.from_generator(batches, cache_dir=sys.argv[2])
of_lambda = datasets.Dataset.from_generator(
    lambda: iter(sl.data.DataLoader(data, 4, collate_fn=pad)), cache_dir=sys.argv[2]
)
names = [f"s{number}" for number in range(22)]
assert of_items["id"][:] == names
assert [name for row in of_batches["id"] for name in row] == names
assert [name for row in of_lambda["id"] for name in row] == names
"""


def test_hugging_face_datasets_are_created_from_items_and_batches(sequences, tmp_path):
    file = sequences(None).paths[0]
    environment = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "home")}
    subprocess.run(
        [sys.executable, "-c", CREATE_DATASET_SCRIPT, file, tmp_path / "cache"],
        env={**os.environ, **environment},
        check=True,
        timeout=600,
        capture_output=True,
    )
