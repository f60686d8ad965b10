"""What a job did, and where its time went."""

from __future__ import annotations

from dataclasses import dataclass

# The kinds of time, for a person.
SPENT_ON = {
    "input": "waiting for input",
    "host": "preparing and pooling",
    "device": "model",
    "output": "waiting for output",
    "rest": "rest",
}


@dataclass(frozen=True, slots=True)
class EmbedSummary:
    """What a call of `embed` did.

    Attributes:
        records: Records of the job, all of which are in the folder now.
        shards: Shards of the job.
        computed: Shards that this call computed and published; others were there already,
            or another process made them.
        sequences: Sequences, or windows of them, that this call embedded.
        tokens: Their tokens.
        seconds: Seconds that this call took, without loading the model.
        shares: Shares of the time by what it was spent on: ``input``, waiting for batches;
            ``host``, preparing and pooling them; ``device``, the model; ``output``, waiting
            for what writes; ``rest``, such as waiting for other processes.
        fill: Tokens by tokens that the batches could have held.
        verdict: What the job spent its time on, a sentence with its number; `Bottleneck`
            says how it is found.
        notes: What a person should know, such as that memory was full.

    Examples:
        >>> from pathlib import Path
        >>> import seqloom as sl
        >>> _ = Path("a.fa").write_text(">x\\nMKT\\n>y\\nMK\\n")
        >>> def count_tokens(batch):
        ...     return batch["input_ids"][:, None].astype("float32")
        >>> summary = sl.infer.embed(count_tokens, "a.fa", out="embeddings")
        >>> summary.records, summary.computed, summary.sequences, summary.tokens
        (2, 1, 2, 9)
    """

    records: int
    shards: int
    computed: int
    sequences: int
    tokens: int
    seconds: float
    shares: dict[str, float]
    fill: float
    verdict: str
    notes: tuple[str, ...] = ()

    @property
    def tokens_per_second(self) -> float:
        """Tokens that this call embedded in a second."""
        return self.tokens / self.seconds if self.seconds else 0.0


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a job is, as `embed` tells its caller after each batch.

    Attributes:
        records: Records of the whole job.
        done: Records in finished shards, whoever finished them.
        sequences: Sequences, or windows of them, that this call embedded.
        tokens: Their tokens.
        seconds: Seconds since the call began.
        fill: Tokens by tokens that the batches could have held.
        waiting: Share of the time in which the model waited for batches.

    Examples:
        >>> from pathlib import Path
        >>> import seqloom as sl
        >>> _ = Path("a1.fa").write_text(">x\\nMKT\\n")
        >>> def count_tokens(batch):
        ...     return batch["input_ids"][:, None].astype("float32")
        >>> seen = []
        >>> _ = sl.infer.embed(count_tokens, "a1.fa", out="e1", progress=seen.append)
        >>> seen[-1].records, seen[-1].done
        (1, 1)
    """

    records: int
    done: int
    sequences: int
    tokens: int
    seconds: float
    fill: float
    waiting: float
