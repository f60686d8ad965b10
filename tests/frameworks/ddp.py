"""Train with Lightning in two processes; write the records that each process received.

The second process is forked, so that Lightning is imported once.
"""

import json
import os
import socket
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
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
    # Lightning starts no processes if the variable LOCAL_RANK exists.
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": "2"}
    second = os.fork()
    os.environ["LOCAL_RANK"] = "0" if second else "1"
    main(*sys.argv[1:])
    if second:
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(second, 0)[1]))
