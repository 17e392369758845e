"""Which wheels a node lacks, and which it no longer needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

MOST_SINGLE_FILES = 3
"""Copying a file costs some five exchanges over SSH, whatever its size."""


def transfer_plan(
    present: Sequence[Mapping[str, Any]],
    wheels: Sequence[Mapping[str, Any]],
    package: Mapping[str, Any],
    wheels_folder: str,
    package_folder: str,
) -> dict[str, Any]:
    """Compare a node's folder with what it should hold.

    Args:
        present: the node's files, each with `path` and `checksum` (SHA-256), as the find module lists them.
        wheels: the dependencies, each with `file` and `sha256`.
        package: the project's own wheel, of the same form.
        wheels_folder: where the dependencies lie on the controller.
        package_folder: where the package lies on the controller.

    Returns:
        `bundle`, whether so many dependencies are missing that one archive of all is faster; `send`, a list
        of `{folder, file}` to copy one by one; `drop`, a list of paths on the node.
    """
    have = {PurePosixPath(item["path"]).name: item for item in present}
    want = {item["file"]: (item["sha256"], wheels_folder) for item in wheels}
    want[package["file"]] = (package["sha256"], package_folder)
    missing = [
        {"folder": folder, "file": name}
        for name, (sha256, folder) in want.items()
        if name not in have or have[name]["checksum"] != sha256
    ]
    own = [item for item in missing if item["folder"] == package_folder]
    many = len(missing) - len(own) > MOST_SINGLE_FILES
    return {
        "bundle": many,
        "send": own if many else missing,
        "drop": [item["path"] for name, item in have.items() if name not in want],
    }
