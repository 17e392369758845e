"""A wheelhouse on the controller: make a lock, fetch what it names, refuse every other file.

Acts on the disk and calls pip; what to do is decided by `wheel_lock`.
"""

from __future__ import annotations

import email.parser
import fcntl
import hashlib
import importlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename

from .wheel_lock import (
    LockError,
    Pin,
    applicable,
    fits,
    hash_conflicts,
    lock_problems,
    marker_environment,
    parse_constraints,
    parse_lock,
    render_lock,
)

_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True)
class Target:
    """What wheels are fetched for, and with which arguments for pip's index."""

    platforms: tuple[str, ...]
    python_version: str
    index_args: tuple[str, ...] = ()


@dataclass(frozen=True)
class Wheel:
    """One file of a wheelhouse; size in bytes."""

    file: str
    name: str
    version: str
    sha256: str
    size: int


def project_dependencies(pyproject: Path) -> list[str]:
    """The requirements that `pyproject.toml` names.

    Raises:
        ModuleNotFoundError: this Python is older than 3.11, which the controller's is not.
    """
    # by name, since what Ansible sends to nodes is type-checked for older Pythons too
    tomllib = importlib.import_module("tomllib")
    content = tomllib.loads(pyproject.read_text(encoding="utf-8"))
    return [str(item) for item in content["project"]["dependencies"]]


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, as hex digits."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def describe(path: Path) -> Wheel:
    """Read name and version from a wheel's file name, and hash it.

    Raises:
        packaging.utils.InvalidWheelFilename: the file is not named like a wheel.
    """
    name, version, _build, _tags = parse_wheel_filename(path.name)
    return Wheel(path.name, name, str(version), sha256_of(path), path.stat().st_size)


def required_by(path: Path) -> list[str]:
    """The `Requires-Dist` lines of a wheel's metadata."""
    with zipfile.ZipFile(path) as archive:
        metadata = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        message = email.parser.HeaderParser().parsestr(archive.read(metadata).decode("utf-8"))
    return list(message.get_all("Requires-Dist") or [])


@contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """Hold the folder: a second controller process waits, so that two runs at once do not mix their files."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def write_atomically(path: Path, text: str) -> None:
    """Write a file so that a reader, or a kill, sees the old or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def pip_download(arguments: Sequence[str], target: Target, folder: Path) -> None:
    """Call `pip download` for the target's platform; pip's own configuration of this machine applies.

    Raises:
        LockError: pip failed; the message has the last lines of what it said.
    """
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    command += [
        "--disable-pip-version-check",
        "--implementation",
        "cp",
        "--python-version",
        target.python_version,
    ]
    for platform in target.platforms:
        command += ["--platform", platform]
    command += ["--dest", str(folder), *target.index_args, *arguments]
    # PYTHON* of the caller, such as the module's own path, is none of pip's business
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run(  # noqa: S603 - the arguments are a list, no shell reads them
        command, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.strip() and not line.startswith("WARNING")]
        tail = "\n".join(lines[-8:]) or f"pip ended with status {done.returncode}"
        raise LockError(
            f"pip could not fetch wheels for {', '.join(target.platforms)}, Python {target.python_version}: {tail}"
        )


def resolve(
    requirements: Sequence[str], constraints: Mapping[str, Requirement], target: Target, folder: Path
) -> dict[str, Wheel]:
    """Download the requirements and all they need into `folder`, level by level, for the target.

    Raises:
        LockError: a wheel does not exist, or two requirements contradict each other.
    """
    environment = marker_environment(target.platforms[0], target.python_version)
    chosen: dict[str, Wheel] = {}
    asked: list[tuple[str, Requirement]] = []
    level = [("the project", item) for item in applicable(requirements, environment, "pyproject.toml")]
    while level:
        asked += level
        fresh = {canonicalize_name(item.name): item for _, item in level}
        wanted = []
        for name, item in sorted(fresh.items()):
            if name not in chosen:
                pin = str(constraints[name].specifier) if name in constraints else ""
                wanted.append(f"{item.name}{','.join(filter(None, [str(item.specifier), pin]))}")
        if not wanted:
            break
        before = {path.name for path in folder.glob("*.whl")}
        pip_download(wanted, target, folder)
        level = []
        for path in sorted(folder.glob("*.whl")):
            if path.name in before:
                continue
            wheel = describe(path)
            chosen[wheel.name] = wheel
            level += [(wheel.name, item) for item in applicable(required_by(path), environment, wheel.file)]
    for parent, item in asked:
        wheel = chosen[canonicalize_name(item.name)]
        if not fits(wheel.version, item):
            raise LockError(
                f"{parent} needs {item}, but {wheel.name} {wheel.version} was chosen first: pin a version of "
                f"{wheel.name} that suits both in constraints.txt."
            )
    return chosen


def make_lock(
    requirements: Sequence[str],
    constraints: Mapping[str, Requirement],
    target: Target,
    wheelhouse: Path | None,
) -> str:
    """Resolve afresh and return the lock's text; the files stay in the wheelhouse, if one is given.

    Raises:
        LockError: see `resolve`.
    """
    parent = wheelhouse.parent if wheelhouse is not None else None
    if parent is not None:
        parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".resolve-", dir=parent) as name:
        folder = Path(name)
        wheels = resolve(requirements, constraints, target, folder)
        pins = {wheel.name: Pin(wheel.name, wheel.version, (wheel.sha256,)) for wheel in wheels.values()}
        if wheelhouse is not None:
            wheelhouse.mkdir(parents=True, exist_ok=True)
            for wheel in wheels.values():
                shutil.move(folder / wheel.file, wheelhouse / wheel.file)
    return render_lock(pins, target.platforms, target.python_version)


def inspect(wheelhouse: Path, pins: Mapping[str, Pin]) -> tuple[dict[str, Wheel], list[str]]:
    """What of the lock lies in the wheelhouse, and which other wheels lie there.

    Raises:
        LockError: a wheel has the name and version of a pin and another content; the message names the file.
    """
    found: dict[str, Wheel] = {}
    others: list[str] = []
    for path in sorted(wheelhouse.glob("*.whl")):
        name, version, _build, _tags = parse_wheel_filename(path.name)
        pin = pins.get(name)
        if pin is None or str(version) != pin.version:
            others.append(path.name)
            continue
        wheel = describe(path)
        if wheel.sha256 not in pin.sha256:
            raise LockError(
                f"{path} has the SHA-256 {wheel.sha256}, which is not in the lock for "
                f"{pin.name}=={pin.version}: the "
                "file was damaged or replaced. Delete it to have it fetched again; nothing was copied "
                "to a node."
            )
        found[name] = wheel
    return found, others


def fetch(pins: Mapping[str, Pin], target: Target, wheelhouse: Path) -> dict[str, Wheel]:
    """Fetch what is missing of the lock, and remove the wheels that are not in it.

    Raises:
        LockError: pip failed, or a file that came has another hash.
    """
    found, others = inspect(wheelhouse, pins)
    missing = {name: pin for name, pin in pins.items() if name not in found}
    if missing:
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=wheelhouse.parent) as name:
            folder = Path(name)
            requirements = folder / "requirements.txt"
            requirements.write_text(render_lock(missing, target.platforms, target.python_version), encoding="utf-8")
            pip_download(["--require-hashes", "--requirement", str(requirements)], target, folder)
            came, _ = inspect(folder, missing)
            for wheel in came.values():
                (folder / wheel.file).replace(wheelhouse / wheel.file)
            found.update(came)
    for other in others:
        (wheelhouse / other).unlink()
    return found


def bundle(wheelhouse: Path, wheels: Mapping[str, Wheel]) -> Path:
    """One archive of all wheels, made when they changed: a node that lacks them gets one file, not twenty."""
    digest = hashlib.sha256("\n".join(sorted(wheel.sha256 for wheel in wheels.values())).encode()).hexdigest()
    path = wheelhouse / f"wheels-{digest[:16]}.tar"
    for old in wheelhouse.glob("wheels-*.tar*"):
        if old != path:
            old.unlink()
    if not path.exists():
        part = path.with_name(f"{path.name}.part")
        with tarfile.open(part, "w", format=tarfile.USTAR_FORMAT) as archive:
            for name in sorted(wheels):
                archive.add(wheelhouse / wheels[name].file, wheels[name].file)
        part.replace(path)
    return path


def load_lock(path: Path) -> dict[str, Pin] | None:
    """Read the lock, or None when there is none.

    Raises:
        LockError: it does not parse.
    """
    return parse_lock(path.read_text(encoding="utf-8"), str(path)) if path.is_file() else None


def current_lock(
    path: Path,
    requirements: Sequence[str],
    constraints_text: str,
    target: Target,
    wheelhouse: Path,
    may_write: bool,
) -> tuple[dict[str, Pin], bool]:
    """The lock to install from, made or renewed when it may be; with whether it was.

    Raises:
        LockError: the lock does not fit the constraints and may not be renewed here, or the renewed one has
        another
            hash for a version that the old one knows.
    """
    constraints = parse_constraints(constraints_text)
    wanted = applicable(requirements, marker_environment(target.platforms[0], target.python_version), "pyproject.toml")
    old = load_lock(path)
    if old is not None:
        problems = lock_problems(old, wanted, constraints)
        if not problems:
            return old, False
        if not may_write:
            raise LockError(
                f"{path} no longer fits: {'; '.join(problems)}. It ships with the project: run "
                "tools/wheel_lock.py "
                "and commit what it writes."
            )
    text = make_lock(requirements, constraints, target, wheelhouse)
    new = parse_lock(text, str(path))
    conflicts = hash_conflicts(old or {}, new)
    if conflicts:
        raise LockError(
            f"the index now gives other files than before for {', '.join(conflicts)}, at the same "
            "version. If that is "
            f"known to be right, delete {path}; else find out who changed them."
        )
    write_atomically(path, text)
    return new, True
