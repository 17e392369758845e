"""The wheel of this project's own package: what it is built from, and building it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from .wheelhouse import Wheel, describe, write_atomically

_FILES = ("pyproject.toml", "README.md")
_PACKAGE = "training"
_STATE = "built.json"
_EPOCH = "1577836800"
"""SOURCE_DATE_EPOCH, 2020-01-01: a fixed time in the archive, so that equal sources give an equal hash."""


class BuildError(RuntimeError):
    """The package could not be built; the message has the last lines of what the build said."""


def sources(project: Path) -> list[Path]:
    """The files that the wheel is made from, sorted; caches are none of them."""
    files = [project / name for name in _FILES if (project / name).is_file()]
    package = (path for path in (project / _PACKAGE).rglob("*") if path.is_file())
    return files + sorted(path for path in package if "__pycache__" not in path.parts and path.suffix != ".pyc")


def content_hash(project: Path) -> str:
    """SHA-256 over names and contents of the sources."""
    digest = hashlib.sha256()
    for path in sources(project):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(project)}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def built(project: Path, dest: Path) -> Wheel | None:
    """The wheel in `dest` if it was built from these sources and is still the file that was built then."""
    try:
        state = json.loads((dest / _STATE).read_text(encoding="utf-8"))
        wheel = describe(dest / state["file"])
    except (OSError, ValueError, KeyError):
        return None
    same = state.get("sources") == content_hash(project) and state.get("sha256") == wheel.sha256
    return wheel if same else None


def build(project: Path, dest: Path) -> Wheel:
    """Build in a copy of the sources, so that neither leftovers nor deleted modules get in.

    Raises:
        BuildError: the build failed.
    """
    dest.mkdir(parents=True, exist_ok=True)
    wanted = content_hash(project)
    with tempfile.TemporaryDirectory(prefix=".build-", dir=dest) as name:
        tree, out = Path(name) / "tree", Path(name) / "out"
        for path in sources(project):
            copy = tree / path.relative_to(project)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
        environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        environment["SOURCE_DATE_EPOCH"] = _EPOCH
        command = [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "--quiet",
            "--no-deps",
            "--disable-pip-version-check",
        ]
        # setuptools is pinned in constraints.txt and there; with isolation each build would fetch it anew
        command += ["--no-build-isolation", "--no-cache-dir", "--wheel-dir", str(out), str(tree)]
        done = subprocess.run(  # noqa: S603 - the arguments are a list, no shell reads them
            command, env=environment, capture_output=True, text=True, check=False
        )
        files = sorted(out.glob("*.whl")) if out.is_dir() else []
        if done.returncode != 0 or len(files) != 1:
            tail = "\n".join((done.stderr or done.stdout).splitlines()[-12:])
            raise BuildError(f"the wheel of {project} could not be built (pip wheel, status {done.returncode}): {tail}")
        for old in dest.glob("*.whl"):
            old.unlink()
        files[0].replace(dest / files[0].name)
    wheel = describe(dest / files[0].name)
    state = {"sources": wanted, "file": wheel.file, "sha256": wheel.sha256}
    write_atomically(dest / _STATE, json.dumps(state) + "\n")
    return wheel
