"""Trains in two processes that Lightning starts, and writes whom each has seen."""

import json
import sys
from pathlib import Path
from typing import Any

from torch.utils.data import DataLoader

import seqloom as sl
from lightning_users import TinyLightning, lightning_trainer


def main(file, folder):
    labels = {f"s{number}": "ab"[number // 2 % 2] for number in range(22)}
    data: Any = sl.data.SequenceDataset(
        file, encoder=sl.encode.OneHot("dna"), labels=labels
    )
    whole: Any = sl.data.EpochSampler(data, rank=0, world_size=1)
    pad = sl.data.PadCollator(output="torch")
    loaders = {
        "ours": sl.data.DataLoader(data, 4, shuffle=True, collate_fn=pad, num_workers=2),
        "theirs": DataLoader(data, 4, collate_fn=pad, sampler=whole),
    }
    for name, loader in loaders.items():
        module = TinyLightning()
        trainer = lightning_trainer(
            folder, devices=2, strategy="ddp_find_unused_parameters_true"
        )
        trainer.fit(module, loader)
        seen = json.dumps([module.seen, trainer.world_size])
        Path(folder, f"{name}{trainer.global_rank}.json").write_text(seen)


if __name__ == "__main__":
    main(*sys.argv[1:])
