"""ESM2LoRA: ESM-2 with low-rank adapters and a head, trained for one task."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from seqloom._arguments import as_path
from seqloom._config import convert_fields
from seqloom.encode import Tokens
from seqloom.errors import ArgumentError, MissingFileError, RecordError
from seqloom.models._esm2 import ESM2
from seqloom.models._examples import (
    Examples,
    check_examples,
    count_outputs,
    require_positive,
)
from seqloom.models._head import Head, HeadConfig
from seqloom.nn import Config, Module, add_lora
from seqloom.nn._operands import as_operand
from seqloom.record._facts import joint_checksum
from seqloom.tensor import Tensor, apply

if TYPE_CHECKING:
    import os

    from seqloom._key import Key

# The tokens <cls>, <pad> and <eos> have the smallest ids; larger ids are residues.
_MAX_SPECIAL_TOKEN = 2
_ADAPTED_LAYERS = ("*.qkv", "*.out", "*.fc1", "*.fc2")


@dataclass(frozen=True)
class ESM2LoRAConfig(Config):
    """Settings of an `ESM2LoRA`.

    Args:
        base: Folder of the ESM-2 network, as for `ESM2.load`.
        outputs: Number of outputs for each sequence: the number of classes or labels.
        rank: Rank of each adapter.
        alpha: Numerator of the adapters' factor ``alpha / rank``.
        targets: Glob patterns of the linear layers with adapters: ``qkv`` and ``out`` of
            the attention, ``fc1`` and ``fc2`` of the feed-forward network.
        hidden: Number of features of each hidden layer of the head.
        dropout: Probability of dropping a feature before each layer of the head in
            training.
        base_hash: Checksum of the weights in `base`; empty to accept any weights.

    Raises:
        ArgumentError: A number is out of range.

    Examples:
        >>> import seqloom as sl
        >>> small = sl.models.ESM2Config(layers=2, width=16, heads=4).init("numpy")
        >>> small.save("small")
        >>> config = sl.models.ESM2LoRAConfig("small", outputs=2, rank=2)
        >>> model = config.init("numpy")
        >>> sum("base" in path for path in model.to_record())
        16
    """

    base: str
    outputs: int
    rank: int = 8
    alpha: float = 16.0
    targets: tuple[str, ...] = _ADAPTED_LAYERS
    hidden: tuple[int, ...] = ()
    dropout: float = 0.1
    base_hash: str = ""

    def __post_init__(self) -> None:
        convert_fields(self)
        require_positive({"outputs": self.outputs, "rank": self.rank})

    @classmethod
    def for_data(
        cls, train: Examples, base: str | os.PathLike[str], **changes: Any
    ) -> Self:
        """Choose settings for a training set.

        Args:
            train: Proteins with labels, encoded by ``sl.encode.Tokens("esm2")``.
            base: Folder of the ESM-2 network.
            **changes: Values of other fields, such as ``rank=4``.

        Returns:
            Settings that fit the labels.

        Raises:
            ArgumentError: The training set has no labels, or its encoder is not
                ``Tokens("esm2")``.

        Examples:
            >>> import seqloom as sl
            >>> sl.models.ESM2Config(layers=2, width=16, heads=4).init("numpy").save("s")
            >>> data = sl.data.SequenceDataset(
            ...     {"x": "MKT", "y": "MKL"},
            ...     labels={"x": "no", "y": "yes"},
            ...     encoder=sl.encode.Tokens("esm2"),
            ... )
            >>> sl.models.ESM2LoRAConfig.for_data(data, "s").outputs
            2
        """
        check_examples("train", train)
        _check_encoder(train.encoder)
        place = as_path("base", base).resolve()
        return cls(base=str(place), outputs=count_outputs(train), **changes)

    def check_encoder(self, encoder: Any) -> None:
        """Raise if the records are not encoded as the tokens of ESM-2.

        Args:
            encoder: Encoder of the records.

        Raises:
            ArgumentError: The encoder is not ``Tokens("esm2")`` with special tokens.

        Examples:
            >>> import seqloom as sl
            >>> config = sl.models.ESM2LoRAConfig("small", outputs=2)
            >>> config.check_encoder(sl.encode.Tokens("esm2"))
        """
        _check_encoder(encoder)

    def build(self) -> ESM2LoRA:
        """Load the base network, and add adapters and a head.

        Returns:
            A network in training mode, whose settings contain the checksum of its base
            network.

        Raises:
            MissingFileError: The folder of the base network does not exist.
            RecordError: The weights of the base network do not match `base_hash`.

        Examples:
            >>> import seqloom as sl
            >>> sl.models.ESM2Config(layers=2, width=16, heads=4).init("numpy").save("s")
            >>> len(sl.models.ESM2LoRAConfig("s", outputs=2).build().config.base_hash)
            16
        """
        try:
            base = ESM2.load(self.base)
        except MissingFileError as error:
            raise MissingFileError(
                f"{error}. The model's adapters need this base network: if its folder has "
                "moved, pass it to sl.models.load(run, base=FOLDER) (--base FOLDER)"
            ) from None
        found = joint_checksum(base.to_record())
        if self.base_hash and self.base_hash != found:
            raise RecordError(
                f"{self.base}: has other weights (checksum {found}) than the base network "
                f"of the adapters ({self.base_hash}). Pass the folder of those weights to "
                "sl.models.load(run, base=FOLDER) (--base FOLDER)"
            )
        place = str(Path(self.base).resolve())
        return ESM2LoRA(replace(self, base=place, base_hash=found), base)


class ESM2LoRA(Module):
    """ESM-2 with adapters, and a head on the mean of the residues' hidden states.

    Only the adapters and the head are trained and saved. The settings contain the
    folder and checksum of the base network.

    Args:
        config: Settings of the network.
        base: The ESM-2 network; it is changed in place.

    Examples:
        >>> import numpy as np, seqloom as sl
        >>> sl.models.ESM2Config(layers=2, width=16, heads=4).init("numpy").save("small")
        >>> model = sl.models.ESM2LoRAConfig("small", outputs=3).init("numpy").eval()
        >>> model.logits(model.backend.tensor(np.array([[0, 20, 15, 2]]))).shape
        (1, 3)
    """

    config: ESM2LoRAConfig
    base: ESM2
    head: Head

    def __init__(self, config: ESM2LoRAConfig, base: ESM2) -> None:
        self.config = config
        # The heads of the base network are not used.
        base.lm_head = base.contact_head = None
        self.base = add_lora(base, config.rank, config.alpha, config.targets)
        self.head = Head(
            HeadConfig(
                inputs=base.config.width,
                outputs=config.outputs,
                hidden=config.hidden,
                dropout=config.dropout,
            )
        )

    def logits(
        self,
        input_ids: Any,
        cu_seqlens: Any = None,
        max_seqlen: Any = None,
        *,
        mask: Any = None,
        key: Key | None = None,
    ) -> Tensor:
        """Compute the outputs before softmax or sigmoid.

        Args:
            input_ids: Token ids: ``(n, l)`` with padding, or ``(total,)`` concatenated.
            cu_seqlens: Offsets of concatenated sequences ``(n + 1,)``: the start of each
                sequence, and the total length.
            max_seqlen: Length of the longest concatenated sequence.
            mask: Mask ``(n, l)``, 1 at real tokens.
            key: Random key for dropout; required in training mode.

        Returns:
            A tensor ``(n, outputs)``.

        Examples:
            >>> import numpy as np, seqloom as sl
            >>> small = sl.models.ESM2Config(layers=2, width=16, heads=4).init("numpy")
            >>> small.save("small")
            >>> model = sl.models.ESM2LoRAConfig("small", outputs=3).init("numpy").eval()
            >>> packed = np.array([0, 20, 15, 2, 0, 4, 2])
            >>> model.logits(packed, np.array([0, 4, 7])).shape
            (2, 3)
        """
        longest = None if max_seqlen is None else int(max_seqlen)
        hidden = self.base(input_ids, cu_seqlens, longest, mask=mask)
        tokens = as_operand(hidden, input_ids)
        real = apply("greater", tokens, _MAX_SPECIAL_TOKEN).astype(hidden.dtype)
        if mask is not None:
            real = real * as_operand(hidden, mask).astype(hidden.dtype)
        if cu_seqlens is None:
            rows = _mean_over_rows(apply("expand_dims", real, axis=-2), hidden)
            pooled = rows.reshape(real.shape[0], -1)
        else:
            pooled = _pool_packed(hidden, real, cu_seqlens)
        return self.head.logits(pooled, key=key)


def _pool_packed(hidden: Tensor, real: Tensor, cu_seqlens: Any) -> Tensor:
    """Return the mean over the residues of each packed sequence, ``(n, width)``."""
    bounds = as_operand(hidden, cu_seqlens)
    place = as_operand(hidden, hidden.backend.tensor(list(range(hidden.shape[0]))))
    begun = apply("greater_equal", place, bounds[:-1, None])
    ended = apply("greater_equal", place, bounds[1:, None])
    inside = apply("logical_and", begun, apply("logical_not", ended))
    return _mean_over_rows(inside.astype(hidden.dtype) * real, hidden)


def _mean_over_rows(weights: Tensor, hidden: Tensor) -> Tensor:
    """Return means over the rows that have weight 1; weights ``(..., n, l)`` are 0 or 1."""
    count = apply("maximum", weights.sum(axis=-1, keepdims=True), 1.0)
    return (weights @ hidden) / count


def _check_encoder(encoder: Any) -> None:
    """Raise if the records are not encoded as the tokens of ESM-2."""
    is_esm2 = isinstance(encoder, Tokens) and encoder.name == "esm2"
    if not is_esm2 or not encoder.add_special_tokens:
        raise ArgumentError(
            f"ESM-2 reads its tokens, not the output of {encoder}; open the dataset with "
            'encoder=sl.encode.Tokens("esm2")'
        )
