"""Users and groups, read from and written to the files that Linux has for them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from macsim.core.paths import Paths
from macsim.core.state import locked


class Group(NamedTuple):
    """One group."""

    name: str
    gid: int
    members: tuple[str, ...]


class User(NamedTuple):
    """One user."""

    name: str
    uid: int
    gid: int
    real_name: str
    home: str
    shell: str


def groups(paths: Paths) -> list[Group]:
    """Return the groups, a Mac's first."""
    rows = (line.split(":") for line in (paths.etc / "group").read_text().splitlines())
    return [
        Group(row[0], int(row[2]), tuple(word for word in row[3].split(",") if word)) for row in rows if len(row) == 4
    ]


def users(paths: Paths) -> list[User]:
    """Return the users."""
    rows = (line.split(":") for line in (paths.etc / "passwd").read_text().splitlines())
    return [
        User(row[0], int(row[2]), int(row[3]), row[4].partition(",")[0], row[5], row[6])
        for row in rows
        if len(row) == 7
    ]


def is_member(paths: Paths, user: str, group: Group) -> bool:
    """Return whether a user belongs to a group, by list or as the first group."""
    first = next((item.gid for item in users(paths) if item.name == user), None)
    return user in group.members or first == group.gid


def save_groups(paths: Paths, changed: list[Group]) -> None:
    """Write the groups."""
    path: Path = paths.etc / "group"
    with locked(paths.kept / "group"):
        part = path.with_name(".group.macsim")
        part.write_text("".join(f"{item.name}:x:{item.gid}:{','.join(item.members)}\n" for item in changed))
        part.chmod(0o644)
        part.replace(path)
