"""File operations that are still true after the power fails.

A file is durable when its bytes are on the medium and when the folder that names it is. Everything below
does both, in that order. Nothing else in `training.checkpoint` changes a file of a checkpoint.
"""

import contextlib
import hashlib
import os
import shutil
from pathlib import Path

try:
    from fcntl import F_FULLFSYNC, fcntl  # type: ignore[attr-defined,unused-ignore]
except ImportError:
    # Linux: os.fsync reaches the medium by itself.
    F_FULLFSYNC = None

# Large enough for a fast disk, small enough that a thread of training waits for the GIL only briefly.
CHUNK_BYTES = 4 * 1024 * 1024


def sync_descriptor(descriptor: int) -> None:
    """Brings the bytes of an open file to the medium.

    On macOS fsync(2) stops at the drive's cache; its manual page names F_FULLFSYNC for the rest. Network
    file systems do not know that call, so a refusal falls back to fsync.
    """
    if F_FULLFSYNC is not None:
        with contextlib.suppress(OSError):
            fcntl(descriptor, F_FULLFSYNC)
            return
    os.fsync(descriptor)


def sync_folder(folder: Path) -> None:
    """Brings the names in a folder to the medium."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        sync_descriptor(descriptor)
    finally:
        os.close(descriptor)


def sync_file(path: Path) -> None:
    """Brings the bytes of a file that another library wrote to the medium."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        sync_descriptor(descriptor)
    finally:
        os.close(descriptor)


def write_file(path: Path, content: bytes) -> None:
    """Writes a file so that its name never stands for a part of its content.

    Raises:
        OSError: The disk is full, the folder is gone, and the like. No file of that name is left behind.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        with temporary.open("wb") as stream:
            stream.write(content)
            stream.flush()
            sync_descriptor(stream.fileno())
        rename(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def write_file_in(folder: int, name: str, content: bytes) -> None:
    """The same in a folder given by its descriptor, which a rename of the folder does not change.

    Args:
        folder: Descriptor of an open folder.
        name: Of the file.
        content: Its bytes.

    Raises:
        OSError: The file cannot be written.
    """
    temporary = f".{name}.tmp"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644, dir_fd=folder)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(content)
        stream.flush()
        sync_descriptor(stream.fileno())
    os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    sync_descriptor(folder)


def copy_file(source: Path, target: Path) -> str:
    """Copies a file durably and returns the SHA-256 of what was read.

    Raises:
        OSError: One of the two cannot be read or written.
    """
    digest = hashlib.sha256()
    with source.open("rb") as reader, target.open("wb") as writer:
        while chunk := reader.read(CHUNK_BYTES):
            digest.update(chunk)
            writer.write(chunk)
        writer.flush()
        sync_descriptor(writer.fileno())
    return digest.hexdigest()


def rename(source: Path, target: Path) -> None:
    """Renames within a folder, durably.

    Raises:
        OSError: The target is a folder with something in it, or either is gone.
    """
    source.replace(target)
    sync_folder(target.parent)


def make_folder(folder: Path) -> None:
    """Makes a folder and its parents; one that exists is fine.

    Raises:
        OSError: It cannot be made.
    """
    folder.mkdir(parents=True, exist_ok=True)
    sync_folder(folder.parent)


def remove_folder(folder: Path) -> None:
    """Removes a folder with all that is in it, as far as possible: what is left is tried again later."""
    shutil.rmtree(folder, ignore_errors=True)


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file.

    Raises:
        OSError: It cannot be read.
    """
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()
