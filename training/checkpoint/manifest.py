"""What a checkpoint says about itself: `manifest.json`, and `part-<rank>.json` while it is being written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import PurePosixPath
from typing import Any

# Raised when an older reader would misread what is written.
FORMAT = 1
SHA256_DIGITS = 64


class ManifestError(ValueError):
    """A manifest that cannot be used; the message is the reason, without the path."""


@dataclass(frozen=True)
class FileEntry:
    """A file of a checkpoint.

    Attributes:
        size: Bytes.
        sha256: Of the content, in hexadecimal.
    """

    size: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """The content of `manifest.json`.

    Attributes:
        step: Steps done when it was taken.
        save_id: Tells two saves of the same step apart.
        world_size: Ranks that took it.
        tensors: Every parameter and buffer of the model as `dtype[shape]`, by name.
        optimizers: The class names of the optimisers, in order.
        fingerprint: SHA-256 of `tensors`.
        torch: The version of torch that wrote it.
        created_at: ISO 8601, UTC.
        files: Every other file but the commit marker, by its path in the checkpoint.
    """

    step: int
    save_id: str
    world_size: int
    tensors: Mapping[str, str]
    optimizers: tuple[str, ...]
    fingerprint: str
    torch: str
    created_at: str
    files: Mapping[str, FileEntry]

    def encode(self) -> bytes:
        """The bytes of `manifest.json`."""
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=1, sort_keys=True).encode() + b"\n"

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(entry.size for entry in self.files.values())


def digest(content: bytes) -> str:
    """The SHA-256 that a commit marker holds."""
    return hashlib.sha256(content).hexdigest()


def decode(content: bytes) -> Manifest:
    """Reads the bytes of `manifest.json`.

    Raises:
        ManifestError: They are not a manifest of this format, or it names a file outside the checkpoint.
    """
    values = decode_object(content)
    try:
        manifest = Manifest(
            step=_count(values["step"], "step"),
            save_id=_text(values["save_id"], "save_id"),
            world_size=_count(values["world_size"], "world_size"),
            tensors={name: _text(value, f"tensors.{name}") for name, value in values["tensors"].items()},
            optimizers=tuple(_text(value, "optimizers") for value in values["optimizers"]),
            fingerprint=_text(values["fingerprint"], "fingerprint"),
            torch=_text(values["torch"], "torch"),
            created_at=_text(values["created_at"], "created_at"),
            files=decode_files(values["files"]),
        )
    except KeyError as error:
        raise ManifestError(f"it has no key {error.args[0]!r}") from error
    except (AttributeError, TypeError) as error:
        raise ManifestError(f"a value has the wrong type: {error}") from error
    if manifest.world_size < 1:
        raise ManifestError(f"world_size is {manifest.world_size}, but must be at least 1")
    return manifest


def decode_object(content: bytes) -> dict[str, Any]:
    """A JSON object of our format, its values unchecked.

    Raises:
        ManifestError: It is not JSON, not an object, or of another format.
    """
    try:
        values = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ManifestError(f"it is not JSON: {error}") from error
    if not isinstance(values, dict):
        raise ManifestError(f"it holds a {type(values).__name__}, not an object")
    if values.get("format") != FORMAT:
        raise ManifestError(
            f"its format is {values.get('format')!r}, and this version of Espalier reads format {FORMAT}"
        )
    return values


def decode_files(values: Any) -> dict[str, FileEntry]:
    """The table of files.

    Raises:
        ManifestError: A name leads out of the checkpoint, or a size or hash is not one.
    """
    if not isinstance(values, dict):
        raise ManifestError("files is not an object")
    files = {}
    for name, entry in values.items():
        check_name(name)
        if not isinstance(entry, dict):
            raise ManifestError(f"files.{name} is not an object")
        sha256 = _text(entry.get("sha256"), f"files.{name}.sha256")
        if len(sha256) != SHA256_DIGITS or not set(sha256) <= set("0123456789abcdef"):
            raise ManifestError(f"files.{name}.sha256 is {sha256!r}, which is no SHA-256")
        files[name] = FileEntry(_count(entry.get("size"), f"files.{name}.size"), sha256)
    return files


def check_name(name: str) -> None:
    """Refuses a path that could lead out of the checkpoint's folder.

    Raises:
        ManifestError: It is empty, absolute, has `..` or a control character, or is not in its plain form.
    """
    path = PurePosixPath(name)
    plain = name and not path.is_absolute() and ".." not in path.parts and str(path) == name and name != "."
    if not plain or "\\" in name or not name.isprintable():
        raise ManifestError(f"the file name {name!r} leads out of the checkpoint or is not a plain path")


def _count(value: Any, key: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ManifestError(f"{key} is {value!r}, but must be a whole number of at least 0")
    return value


def _text(value: Any, key: str) -> str:
    if not isinstance(value, str):
        raise ManifestError(f"{key} is {value!r}, but must be text")
    return value
