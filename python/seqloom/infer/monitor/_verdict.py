"""What a loop waits for, judged by where its time went."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

# Waiting for more than this share of the time is worth a person's attention.
WAITING = 0.10
_SOUND = {"device-bound", "idle"}
_WORDS = {
    "input": "the model waited for batches",
    "output": "the model waited for what writes its results",
    "host": "the processor prepared batches and joined results",
    "device": "the model computed",
}


@dataclass(frozen=True, slots=True)
class Bottleneck:
    """What a loop spends its time on, and so what would make it quicker.

    In a condition it is true if something other than the model takes the time: its kind is
    neither ``"device-bound"`` nor ``"idle"``.

    Attributes:
        kind: ``"input-bound"`` or ``"output-bound"`` if waiting for that took over 10 %
            of the time (the larger of both); otherwise ``"host-bound"`` if preparing and
            joining took longer than the model, else ``"device-bound"``. ``"idle"`` if
            an embedding job had nothing left to compute.
        share: The share of the time that this took.
        sentence: The same for a person, with its number; also what ``str`` gives.

    Examples:
        >>> import seqloom as sl
        >>> with sl.infer.GPUMonitor() as monitor:
        ...     monitor.record_dataloader_wait(0.0)
        >>> bottleneck = monitor.check_bottleneck()
        >>> bottleneck.kind, bool(bottleneck)
        ('device-bound', False)
    """

    kind: str
    share: float
    sentence: str

    def __bool__(self) -> bool:
        return self.kind not in _SOUND

    def __str__(self) -> str:
        return self.sentence


IDLE = Bottleneck("idle", 0.0, "idle: nothing was computed")


def judge(shares: Mapping[str, float], seconds: float, evidence: str = "") -> Bottleneck:
    """Names what takes the time; evidence of other kinds stands beside it."""
    kind = _find_kind(shares)
    share = shares[kind]
    sentence = f"{kind}-bound: {_WORDS[kind]} in {share:.1%} of {seconds:,.1f} s"
    if kind != "input":
        sentence += f"; it waited for batches in {shares['input']:.1%}"
    return Bottleneck(f"{kind}-bound", share, "; ".join(filter(None, (sentence, evidence))))


def _find_kind(shares: Mapping[str, float]) -> str:
    """Finds a wait that is too long, or else what computes longer."""
    wait = max(("input", "output"), key=shares.__getitem__)
    if shares[wait] > WAITING:
        return wait
    return max(("device", "host"), key=shares.__getitem__)
