"""dseditgroup: groups of this Mac."""

from __future__ import annotations

from macsim.core import accounts
from macsim.core.accounts import Group
from macsim.core.context import Context
from macsim.core.errors import ExitError
from macsim.core.options import getopt
from macsim.core.registry import Command

EX_USAGE, EX_NOUSER, EX_NOPERM = 64, 67, 77
_USAGE = (
    "dseditgroup [-pqv] -o edit [-n nodename -u username -P password -r realname -c comment -s ttl "
    "-k keyword -i gid -g uuid -S sid -a recordname -d recordname -t recordtype -T grouptype -L] groupname\n"
)
_FIRST_GID = 501


def run(argv: list[str], context: Context) -> int:
    """Check, read, create, change or delete one group."""
    options, operands = getopt("dseditgroup", argv, "pqvo:n:u:P:r:c:k:i:g:a:d:t:T:m:L", _USAGE)
    values = dict(options)
    if len(operands) != 1:
        raise ExitError(EX_USAGE, err=_USAGE)
    name, verb = operands[0], values.get("o", "read")
    found = next((group for group in accounts.groups(context.paths) if group.name == name), None)
    if verb == "create":
        _need_root(context)
        return _create(name, values, context)
    if found is None:
        raise ExitError(EX_USAGE, err="Group not found.\n")
    if verb == "checkmember":
        return _check(values.get("m", ""), found, context)
    if verb == "read":
        context.print(f"dsAttrTypeStandard:PrimaryGroupID -\n\t\t{found.gid}")
        context.print(f"dsAttrTypeStandard:RecordName -\n\t\t{found.name}")
        return 0
    _need_root(context)
    others = [group for group in accounts.groups(context.paths) if group.name != name]
    if verb == "delete":
        accounts.save_groups(context.paths, others)
        return 0
    if verb != "edit":
        raise ExitError(EX_USAGE, err=_USAGE)
    changed = found._replace(gid=int(values.get("i", found.gid)))
    if "a" in values and values["a"] not in changed.members:
        changed = changed._replace(members=(*changed.members, values["a"]))
    if "d" in values:
        changed = changed._replace(members=tuple(word for word in changed.members if word != values["d"]))
    kept = [changed if group.name == name else group for group in accounts.groups(context.paths)]
    accounts.save_groups(context.paths, kept)
    return 0


def _need_root(context: Context) -> None:
    if not context.is_root:
        raise ExitError(EX_NOPERM, err="Username and password must be provided.\n")


def _create(name: str, values: dict[str, str], context: Context) -> int:
    present = accounts.groups(context.paths)
    if any(group.name == name for group in present):
        raise ExitError(EX_USAGE, err="Group already exists.\n")
    taken = {group.gid for group in present}
    free = next(gid for gid in range(_FIRST_GID, 65000) if gid not in taken)
    accounts.save_groups(context.paths, [*present, Group(name, int(values.get("i", free)), ())])
    return 0


def _check(user: str, group: Group, context: Context) -> int:
    if accounts.is_member(context.paths, user, group):
        context.print(f"yes {user} is a member of {group.name}")
        return 0
    context.print(f"no {user} is NOT a member of {group.name}")
    return EX_NOUSER


COMMAND = Command("dseditgroup", ("/usr/sbin/dseditgroup",), run)
