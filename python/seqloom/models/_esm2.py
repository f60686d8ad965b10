"""ESM2: the protein language model of Lin et al. (2023)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from seqloom._arguments import as_path
from seqloom._key import Key
from seqloom.errors import ArgumentError
from seqloom.models._esm2_config import INT8, ESM2Fields, check_dtype
from seqloom.models._esm2_folder import (
    check_weight_count,
    find_heads,
    map_arrays,
    normalise_names,
    quantise_layers,
    read_settings,
    save_folder,
)
from seqloom.models._esm2_layers import (
    ESM2Inputs,
    ESM2Layer,
    ESM2Layout,
    ESM2TokenHead,
    RotaryRates,
    find_contacts,
    layer_indices,
    make_layout,
)
from seqloom.nn import Buffer, Embedding, Int8Linear, LayerNorm, Linear, LoRALinear, Module
from seqloom.record import load
from seqloom.record._facts import joint_checksum
from seqloom.tensor import backend as find_backend

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from seqloom.tensor import Backend, Tensor


@dataclass(frozen=True)
class ESM2Config(ESM2Fields):
    """Settings of an `ESM2`; `of` returns the settings of a published network.

    Args:
        layers: Number of layers.
        width: Number of features of each position.
        heads: Number of attention heads; ``width / heads`` must be an even integer.
        hidden: Width of the feed-forward networks; None for four times `width`.
        vocabulary: Number of different tokens.
        pad_token: Id of the padding token.
        mask_token: Id of the token that masks a residue.
        eps: Number added to the variance in each layer norm.
        base: Base of the rotary position embedding.
        token_dropout: If True, mask tokens have a zero embedding, as in the training of
            ESM-2. The embeddings of all other tokens are scaled by the fraction of mask
            tokens.
        has_lm_head: If True, add a head that predicts tokens.
        has_contact_head: If True, add a head that predicts residue contacts.

    Raises:
        ArgumentError: A setting is out of range.

    Examples:
        >>> import seqloom as sl
        >>> sl.models.ESM2Config(layers=2, width=16, heads=4).init(
        ...     "numpy"
        ... ).number_of_parameters
        7466
    """

    def build(self) -> ESM2:
        """Create the network without binding it to a backend.

        Returns:
            A new network.

        Examples:
            >>> import seqloom as sl
            >>> config = sl.models.ESM2Config(layers=2, width=16, heads=4)
            >>> config.build().config == config
            True
        """
        return ESM2(self)


class ESM2(Module):
    """ESM-2, a protein language model (Lin et al. 2023).

    Input sequences are either concatenated without padding, or padded to one length.
    Token ids are those of ``sl.encode.Tokens("esm2")``: ``<cls>``, the residues,
    ``<eos>``. Positions are encoded by rotary embeddings, with angles in float32 for
    any type of weights. Embeddings are scaled by the fraction of mask tokens in each
    sequence, also in evaluation; without mask tokens the factor is 0.88. The network
    has no dropout.

    Args:
        config: Settings of the network.

    Attributes:
        identity: String by which `sl.infer.embed` identifies the network; if empty, the
            checksum of the weights is used. For 8-bit weights, the string contains the
            checksum of the original weights, because rounded weights may differ between
            processors in the last bits.

    Examples:
        >>> import numpy as np, seqloom as sl
        >>> model = sl.models.ESM2Config(layers=2, width=16, heads=4).init("numpy")
        >>> ids = np.array([0, 20, 15, 2, 0, 4, 2])  # <cls> M K <eos>, <cls> L <eos>
        >>> model(ids, cu_seqlens=[0, 4, 7]).shape
        (7, 16)
        >>> model(np.array([[0, 20, 15, 2], [0, 4, 2, 1]])).shape
        (2, 4, 16)
    """

    config: ESM2Config
    embedding: Embedding
    layers: list[ESM2Layer]
    norm: LayerNorm
    lm_head: ESM2TokenHead | None
    contact_head: Linear | None
    rates: Buffer
    identity: str

    def __init__(self, config: ESM2Config) -> None:
        self.config, self.identity = config, ""
        self.embedding = Embedding(config.vocabulary, config.width)
        self.layers = [ESM2Layer(config) for _ in range(config.layers)]
        self.norm = LayerNorm(config.width, config.eps)
        self.lm_head = ESM2TokenHead(config) if config.has_lm_head else None
        maps = config.layers * config.heads
        self.contact_head = Linear(maps, 1) if config.has_contact_head else None
        self.rates = Buffer(
            (config.width // config.heads // 2,),
            RotaryRates(config.base),
            least_dtype="float32",
            optional=True,
        )

    @classmethod
    def load(
        cls,
        folder: str | os.PathLike[str],
        backend: Backend | str = "numpy",
        dtype: str = "float32",
    ) -> Self:
        """Load a network from a folder in the Hugging Face transformers layout.

        Args:
            folder: Folder with ``config.json`` and the weights: ``model.safetensors``,
                or several weight files and an index. The weights may lack the head of
                ``EsmForMaskedLM``.
            backend: A backend or its name.
            dtype: Type of weights and hidden states: ``"float32"``, ``"float64"``,
                ``"bfloat16"``, ``"float16"`` or ``"int8"``. The 16-bit types need a
                PyTorch or JAX device with 16-bit instructions; ``"int8"`` needs a CPU.
                With ``"int8"`` the linear layers have 8-bit weights, from
                `sl.nn.quantize_int8`; all other parts, including the heads, are
                float32.

        Returns:
            The network in evaluation mode; its `load_report` lists the conversions.

        Raises:
            ArgumentError: `dtype` is not a supported type.
            BackendError: `dtype` would be slower than float32: half precision on NumPy,
                on JAX on a CPU, or on a processor without half-precision instructions.
                ``"int8"`` is only supported by NumPy, and by PyTorch on a CPU.
            ConfigError: ``config.json`` does not describe an ESM-2 network.
            MissingFileError: The folder does not contain the settings or the weights.
            RecordError: An array is missing, unknown or damaged, or has a wrong shape.

        Examples:
            >>> import seqloom as sl
            >>> config = sl.models.ESM2Config(layers=2, width=16, heads=4)
            >>> config.init("numpy").save("small")
            >>> sl.models.ESM2.load("small").config.layers
            2
        """
        found = find_backend(backend) if isinstance(backend, str) else backend
        name, place = check_dtype(found, dtype), as_path("folder", folder)
        settings, arrays = read_settings(place), normalise_names(load(place))
        config = ESM2Config(**settings, **find_heads(arrays))
        check_weight_count(config, arrays, str(place))
        network = cls(config).bind(found, Key(0))
        network.to(found, "float32" if name == INT8 else name)
        network.load_record(map_arrays(network, arrays, str(place))).eval()
        if name == INT8:
            network.identity = f"{joint_checksum(network.to_record())}:{INT8}"
            quantise_layers(network, config.vocabulary)
        return network

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write a folder that `load` and Hugging Face transformers can read.

        The files ``config.json`` and ``model.safetensors`` are those of
        ``EsmForMaskedLM``, or of ``EsmModel`` if the network has no head that predicts
        tokens. Each file is written atomically.

        Args:
            folder: Folder; it is created if it does not exist.

        Raises:
            ArgumentError: The network has adapters or 8-bit layers, which Hugging Face
                folders do not support.
            FileError: A file cannot be written.

        Examples:
            >>> from pathlib import Path
            >>> import seqloom as sl
            >>> config = sl.models.ESM2Config(layers=2, width=16, heads=4)
            >>> config.init("numpy").save("small")
            >>> sorted(path.name for path in Path("small").iterdir())
            ['config.json', 'model.safetensors']
        """
        if any(self.named(LoRALinear)):
            raise ArgumentError(
                "the network has adapters; merge them with sl.nn.merge_lora(network), or "
                "save only the adapters: network.to_record().save(file)"
            )
        if any(self.named(Int8Linear)):
            raise ArgumentError(
                "the network has 8-bit layers, which transformers cannot read; save a "
                "record, network.to_record().save(file), or save before quantising"
            )
        save_folder(self, self.config, as_path("folder", folder))

    def __call__(
        self,
        input_ids: Any,
        cu_seqlens: Any = None,
        max_seqlen: int | None = None,
        *,
        mask: Any = None,
        layers: Sequence[int] | None = None,
    ) -> Any:
        """Compute the hidden states of each position.

        Args:
            input_ids: Token ids: ``(total,)`` of concatenated sequences, ``(l,)`` of one
                sequence, or ``(n, l)`` with padding.
            cu_seqlens: Offsets of concatenated sequences ``(n + 1,)``: the start of each
                sequence, and the total length.
            max_seqlen: Length of the longest concatenated sequence; required on a device
                and in a compiled step.
            mask: Mask ``(n, l)``, 1 or true at real positions; default: positions where
                `input_ids` is not the padding token.
            layers: Indices of the hidden states to return: 0 for the embeddings, i for
                the output of layer i. The last index, -1, includes the final layer norm.

        Returns:
            The last hidden states, ``(total, width)`` or ``(n, l, width)``; with
            `layers`, a list of hidden states. Hidden states at padding are undefined.

        Raises:
            ArgumentError: `layers` or `cu_seqlens` is invalid, or both `mask` and
                `cu_seqlens` are passed.
            OutOfRangeError: A token is not in the vocabulary.
            ShapeError: The shapes of the arguments do not match.
        """
        layout = self._make_layout(ESM2Inputs(input_ids, cu_seqlens, max_seqlen, mask))
        numbers = layer_indices((-1,) if layers is None else layers, len(self.layers))
        states = self._run(layout, set(numbers))
        shape = (*layout.shape, self.config.width)
        found = [states[number].reshape(shape) for number in numbers]
        return found[0] if layers is None else found

    def logits(self, hidden: Tensor) -> Tensor:
        """Compute the logits of all tokens at each position.

        Args:
            hidden: Last hidden states ``(..., width)``.

        Returns:
            Logits ``(..., vocabulary)``.

        Raises:
            ArgumentError: The network has no head that predicts tokens.

        Examples:
            >>> import numpy as np, seqloom as sl
            >>> model = sl.models.ESM2Config(layers=2, width=16, heads=4).init("numpy")
            >>> model.logits(model(np.array([0, 20, 32, 2]))).shape
            (4, 33)
        """
        if self.lm_head is None:
            raise ArgumentError(
                "the network has no head that predicts tokens (lm_head); load a folder of "
                "EsmForMaskedLM, or create it with has_lm_head=True and train it"
            )
        return self.lm_head(hidden, self.embedding.weight.value)

    def contacts(
        self,
        input_ids: Any,
        cu_seqlens: Any = None,
        max_seqlen: int | None = None,
        *,
        mask: Any = None,
    ) -> list[Tensor]:
        """Predict residue contacts of each sequence from the attention of all heads.

        The attention maps of all heads, without ``<cls>`` and ``<eos>``, are symmetrised
        and corrected by the average product correction. A logistic regression combines
        the maps of all heads (Rao et al. 2021). Attention weights are computed in
        float32 or wider.

        Args:
            input_ids: Token ids, as in a call of the network; each sequence begins with
                ``<cls>`` and ends with ``<eos>``.
            cu_seqlens: Offsets of concatenated sequences: the start of each sequence, and
                the total length.
            max_seqlen: Length of the longest concatenated sequence.
            mask: Mask, 1 or true at real positions of padded sequences; padding is at
                the end.

        Returns:
            For each sequence, the contact probabilities ``(residues, residues)``.

        Raises:
            ArgumentError: The network has no head that predicts contacts.

        Examples:
            >>> import numpy as np, seqloom as sl
            >>> model = sl.models.ESM2Config(layers=2, width=16, heads=4).init("numpy")
            >>> [x.shape for x in model.contacts(np.array([0, 20, 15, 4, 2]))]
            [(3, 3)]
        """
        if self.contact_head is None:
            raise ArgumentError(
                "the network has no head that predicts contacts (contact_head); load a "
                "folder that has one, or create it with has_contact_head=True and train it"
            )
        layout = self._make_layout(ESM2Inputs(input_ids, cu_seqlens, max_seqlen, mask))
        x = self._embed_tokens(layout)
        return find_contacts(self.layers, self.contact_head, x, layout=layout)

    def embed(
        self, batch: Mapping[str, Any], layers: Sequence[int] = (-1,)
    ) -> dict[int, Tensor]:
        """Compute hidden states of a packed or padded batch.

        Args:
            batch: Batch of `sl.data.PackedStream`: ``input_ids``, ``cu_seqlens`` and
                ``max_seqlen``; or a padded batch: ``input_ids`` and ``mask``, ``(n, l)``.
            layers: Indices of the hidden states to return, as in a call of the network.

        Returns:
            Hidden states ``(total, width)`` or ``(n, l, width)`` by layer index.

        Raises:
            ArgumentError: A layer does not exist.

        Examples:
            >>> import numpy as np, seqloom as sl
            >>> model = sl.models.ESM2Config(layers=2, width=16, heads=4).init("numpy")
            >>> batch = {"input_ids": np.array([0, 20, 2]), "cu_seqlens": [0, 3]}
            >>> {
            ...     number: x.shape
            ...     for number, x in model.embed(batch, layers=(0, -1)).items()
            ... }
            {0: (3, 16), -1: (3, 16)}
        """
        names = ("mask",) if "mask" in batch else ("cu_seqlens", "max_seqlen")
        options = {name: batch[name] for name in names if name in batch}
        found = self(batch["input_ids"], **options, layers=layers)
        return dict(zip(layers, found, strict=True))

    def _make_layout(self, given: ESM2Inputs) -> ESM2Layout:
        """Arrange packed or padded sequences as rows, one row for each position."""
        return make_layout(self.config, self.rates.value, given)

    def _run(self, layout: ESM2Layout, wanted: set[int]) -> dict[int, Tensor]:
        """Compute the requested hidden states ``(rows, width)``; skip all later layers."""
        x = self._embed_tokens(layout)
        states = {0: x}
        for number in range(1, max(wanted) + 1):
            x = self.layers[number - 1](x, layout)
            states |= {number: x} if number in wanted else {}
        if len(self.layers) in wanted:
            states[len(self.layers)] = self.norm(x)
        return states

    def _embed_tokens(self, layout: ESM2Layout) -> Tensor:
        """Return the scaled embeddings in the dtype of the weights."""
        x = self.embedding(layout.tokens)
        if layout.factor is None:
            return x
        return (x.astype(layout.factor.dtype) * layout.factor).astype(x.dtype)
