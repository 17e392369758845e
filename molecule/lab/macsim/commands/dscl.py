"""dscl: reads users and groups. Changing users is not simulated; groups are changed with dseditgroup."""

from __future__ import annotations

from macsim.core import accounts
from macsim.core.context import Context
from macsim.core.errors import ExitError
from macsim.core.registry import Command

EX_NOT_FOUND = 56
_USAGE = "dscl (v257) -- Directory Service command line utility\n\nusage: dscl [options] [<datasource> [<command>]]\n"


def _records(kind: str, context: Context) -> dict[str, dict[str, str]]:
    if kind == "Users":
        return {
            user.name: {
                "NFSHomeDirectory": user.home,
                "PrimaryGroupID": str(user.gid),
                "RealName": user.real_name or user.name,
                "RecordName": user.name,
                "UniqueID": str(user.uid),
                "UserShell": user.shell,
            }
            for user in accounts.users(context.paths)
        }
    return {
        group.name: {
            "GroupMembership": " ".join(group.members),
            "PrimaryGroupID": str(group.gid),
            "RecordName": group.name,
        }
        for group in accounts.groups(context.paths)
    }


def run(argv: list[str], context: Context) -> int:
    """Answer -list, -read and -search on the local node."""
    if len(argv) < 3 or argv[0] not in {".", "/Local/Default", "localhost"}:
        raise ExitError(64, err=_USAGE)
    verb, words = argv[1].lstrip("-"), argv[2:]
    kind, _, name = words[0].strip("/").partition("/")
    if kind not in {"Users", "Groups"}:
        raise ExitError(EX_NOT_FOUND, err="<dscl_cmd> DS Error: -14009 (eDSUnknownNodeName)\n")
    records = _records(kind, context)
    if verb in {"list", "ls"} and not name:
        for record, fields in sorted(records.items()):
            context.print(f"{record:<26}{fields.get(words[1], '')}" if len(words) > 1 else record)
        return 0
    if verb in {"read", "cat"} and name:
        return _read(records.get(name), words[1:], context)
    if verb == "search" and len(words) == 3:
        for record, fields in sorted(records.items()):
            if words[2] in fields.get(words[1], "").split():
                members = "".join(f"    {word}\n" for word in fields[words[1]].split())
                context.out.write(f"{record}\t\t{words[1]} = (\n{members})\n")
        return 0
    raise ExitError(64, err=f"dscl: {verb} is not simulated\n{_USAGE}")


def _read(record: dict[str, str] | None, keys: list[str], context: Context) -> int:
    if record is None:
        raise ExitError(EX_NOT_FOUND, err="<dscl_cmd> DS Error: -14136 (eDSRecordNotFound)\n")
    for key in keys or sorted(record):
        if not record.get(key):
            context.print(f"No such key: {key}")
        else:
            context.print(f"{key}: {record[key]}")
    return 0


COMMAND = Command("dscl", ("/usr/bin/dscl",), run)
