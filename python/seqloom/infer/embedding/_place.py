"""Where an output goes: a folder of a disk, or a prefix of an object store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seqloom.errors import ArgumentError
from seqloom.infer.embedding._claims import Claims
from seqloom.infer.embedding._folder import OutputFolder
from seqloom.infer.embedding._object_claims import ObjectClaims
from seqloom.infer.embedding._object_folder import ObjectFolder

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping


def open_folder(
    out: str | os.PathLike[str], cloud_options: Mapping[str, str] | None = None
) -> OutputFolder:
    """Opens the output that a path or a URL names."""
    if isinstance(out, str) and "://" in out:
        return ObjectFolder(out, cloud_options or {})
    if cloud_options:
        raise ArgumentError(
            f"cloud_options are for a URL such as s3://bucket/embeddings, got {out!s}"
        )
    return OutputFolder(out)


def claims_of(folder: OutputFolder, lease: float) -> Claims:
    """Makes the claims of this process on the shards of a folder."""
    kind = ObjectClaims if isinstance(folder, ObjectFolder) else Claims
    return kind(folder, lease)
