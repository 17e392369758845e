"""Groups and users: group 0 is wheel, staff is 20, admin is 80, and the administrator is in them."""

from __future__ import annotations

import os

from macsim.core.paths import Paths
from macsim.setup import files
from macsim.setup.write import write

ADMINISTRATOR = "admin"
# Numbers of the groups that macOS has, in the order in which they must come before Debian's.
_GROUPS = {"wheel": 0, "staff": 20, "admin": 80, "everyone": 12}
# Debian's names for those numbers; they must stay, because files in packages are owned by them.
_MOVED = {"dialout": 50}


def merged_groups(text: str, administrator: str) -> str:
    """Return /etc/group with a Mac's groups first; the rest stays, so that Debian's names still resolve.

    A look-up by number finds the first line, so group 0 prints as wheel; root is still found by its name.
    """
    rows = [line.split(":") for line in text.splitlines() if line.count(":") == 3]
    members = {row[0]: row[3] for row in rows if row[0] in _GROUPS}
    for name in ("staff", "admin"):
        present = [word for word in members.get(name, "").split(",") if word]
        if administrator and administrator not in present:
            present.append(administrator)
        members[name] = ",".join(present)
    lines = [f"{name}:x:{number}:{members.get(name, '')}" for name, number in _GROUPS.items()]
    for row in rows:
        if row[0] in _GROUPS:
            continue
        if row[0] in _MOVED:
            row[2] = str(_MOVED[row[0]])
        elif row[0] == "man":
            # Debian's man has the number of everyone; nothing on a node is owned by it.
            row[2] = "6"
        lines.append(":".join(row))
    return "\n".join(lines) + "\n"


def merged_users(text: str, administrator: str) -> str:
    """Return /etc/passwd with staff as the administrator's first group."""
    lines = []
    for line in text.splitlines():
        row = line.split(":")
        if row[0] == administrator and len(row) == 7:
            row[3] = str(_GROUPS["staff"])
        elif row[0] == "man" and len(row) == 7:
            row[3] = "6"
        lines.append(":".join(row))
    return "\n".join(lines) + "\n"


def install(paths: Paths) -> list[str]:
    """Merge the groups, and give Homebrew's folder to the administrator if there is one."""
    passwd = (paths.etc / "passwd").read_text()
    row = next((line.split(":") for line in passwd.splitlines() if line.startswith(f"{ADMINISTRATOR}:")), None)
    groups = (paths.etc / "group").read_text()
    changed = write(paths.etc / "group", merged_groups(groups, ADMINISTRATOR if row else ""))
    changed += write(paths.etc / "passwd", merged_users(passwd, ADMINISTRATOR))
    if row is None:
        return changed
    uid, old_group, home = int(row[2]), int(row[3]), paths.at(row[5])
    if os.geteuid() == 0:
        if old_group != _GROUPS["staff"]:
            for path in (home, *home.rglob("*")):
                os.chown(path, -1, _GROUPS["staff"], follow_symlinks=False)
        files.own_homebrew(paths, uid, _GROUPS["admin"])
    return changed
