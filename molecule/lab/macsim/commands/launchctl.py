"""launchctl: controls macsim-launchd. Statuses are the numbers in the messages, as recorded."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path

from macsim.core.context import Context
from macsim.core.errors import ExitError
from macsim.core.registry import Command
from macsim.launchd import show
from macsim.launchd.client import ask
from macsim.launchd.spec import SpecError, load_spec

EX_USAGE, NO_DOMAIN, NOT_FOUND, NO_ACTION = 64, 112, 113, 125
# How long `kickstart -k` waits for the new process: longer than any exit timeout in use.
_KICKSTART_LOOKS, _KICKSTART_LOOK_S = 300, 0.1
_EX_CONFIG = 78
_TEXT = {
    1: "Operation not permitted",
    3: "No such process",
    5: "Input/output error",
    125: "Domain does not support specified action",
}
_HINT = "Try re-running the command as root for richer errors.\n"
# Rows of `launchctl limit` that are shown but cannot be changed.
_OTHER_LIMITS = (
    ("cpu", "unlimited", "unlimited"),
    ("filesize", "unlimited", "unlimited"),
    ("data", "unlimited", "unlimited"),
    ("stack", "8388608", "67104768"),
    ("core", "0", "unlimited"),
    ("rss", "unlimited", "unlimited"),
    ("memlock", "unlimited", "unlimited"),
    ("maxproc", "10666", "16000"),
)


def _usage(text: str) -> ExitError:
    return ExitError(EX_USAGE, err=f"Usage: launchctl {text}\n")


def _target(word: str) -> str:
    """Return the label of system/<label>.

    Raises:
        ExitError: Another domain, which a Mac has only while somebody is logged in, or none at all.
    """
    domain, slash, rest = word.partition("/")
    if domain == "system" and rest and "/" not in rest:
        return rest
    if domain in {"gui", "user", "login"} and slash:
        uid, _, label = rest.partition("/")
        if label:
            raise ExitError(
                NOT_FOUND,
                err=f'Bad request.\nCould not find service "{label}" in domain for user {domain}: {uid}\n',
            )
    if not slash:
        raise ExitError(EX_USAGE, err=f"Unrecognized target specifier, did you mean gui/<uid>/{word}\n")
    raise ExitError(EX_USAGE, err="Unrecognized target specifier.\n")


def _not_found(label: str) -> ExitError:
    return ExitError(NOT_FOUND, err=f'Could not find service "{label}" in domain for system\n')


def _bootstrap(words: list[str], context: Context) -> int:
    if len(words) < 2:
        raise _usage("bootstrap <domain-target> [service-path, service-path2, ...]")
    if words[0] != "system":
        raise ExitError(NO_ACTION, err=f"Bootstrap failed: {NO_ACTION}: {_TEXT[NO_ACTION]}\n")
    for word in words[1:]:
        code = 5 if not context.is_root else ask(context, verb="bootstrap", path=str(Path(word).absolute()))["code"]
        if code != 0:
            hint = "" if context.is_root else _HINT
            raise ExitError(code, err=f"Bootstrap failed: {code}: {_TEXT.get(code, 'Unknown error')}\n{hint}")
    return 0


def _bootout(words: list[str], context: Context) -> int:
    if not words:
        raise _usage("bootout <domain-target> [service-path1, service-path2, ...] | <service-target>")
    if words[0] == "system" and len(words) == 2:
        label = _label_of(words[1])
    elif words[0].startswith(("gui/", "user/")):
        raise ExitError(3, err=f"Boot-out failed: 3: {_TEXT[3]}\n")
    else:
        label = _target(words[0])
    code = 1 if not context.is_root else ask(context, verb="bootout", label=label)["code"]
    if code != 0:
        raise ExitError(code, err=f"Boot-out failed: {code}: {_TEXT[code]}\n")
    return 0


def _label_of(path: str) -> str:
    try:
        return load_spec(Path(path)).label
    except SpecError as error:
        raise ExitError(5, err=f"Boot-out failed: 5: {_TEXT[5]}\n") from error


def _print(words: list[str], context: Context) -> int:
    if len(words) != 1:
        raise _usage("print <domain-target> | <service-target>")
    if words[0] in {"system", "system/"}:
        answer = ask(context, verb="list")
        context.out.write(show.show_domain(answer["jobs"], ask(context, verb="disabled")["records"]))
        return 0
    domain, _, uid = words[0].partition("/")
    if domain in {"gui", "user"} and uid.isdigit():
        raise ExitError(NO_DOMAIN, err=f"Bad request.\nCould not find domain for user {domain}: {uid}\n")
    label = _target(words[0])
    answer = ask(context, verb="print", label=label)
    if answer["code"] != 0:
        raise ExitError(NOT_FOUND, err=f'Bad request.\nCould not find service "{label}" in domain for system\n')
    context.out.write(show.show_service(answer["job"]))
    return 0


def _print_disabled(words: list[str], context: Context) -> int:
    if words != ["system"]:
        raise _usage("print-disabled <domain-target>")
    context.out.write(show.show_disabled(ask(context, verb="disabled")["records"]))
    return 0


def _list(words: list[str], context: Context) -> int:
    # Without root launchctl lists the user's own domain, and nobody is logged in on this Mac.
    if not words:
        context.out.write(show.show_table(ask(context, verb="list")["jobs"] if context.is_root else []))
        return 0
    answer = ask(context, verb="print", label=words[0])
    if answer["code"] != 0 or not context.is_root:
        raise ExitError(NOT_FOUND, err=f'Could not find service "{words[0]}" in domain for port\n')
    context.out.write(show.show_legacy(answer["job"]))
    return 0


def _kickstart(words: list[str], context: Context) -> int:
    flags = "".join(word[1:] for word in words if word.startswith("-"))
    targets = [word for word in words if not word.startswith("-")]
    if len(targets) != 1 or set(flags) - set("kps"):
        raise _usage("kickstart [-k] [-p] <service-target>")
    label = _target(targets[0])
    if not context.is_root:
        raise ExitError(1, err=f'Could not kickstart service "{label}": 1: {_TEXT[1]}\n')
    answer = ask(context, verb="kickstart", label=label, kill="k" in flags)
    if answer["code"] != 0:
        raise _not_found(label)
    pid = _new_pid(label, answer["killed"], context) if answer.get("killed") else answer["pid"]
    if "p" in flags:
        context.print(f"service spawned with pid: {pid}")
    return 0


def _new_pid(label: str, old: int, context: Context) -> int:
    """Wait for the process that follows a killed one, as the real tool does."""
    for _ in range(_KICKSTART_LOOKS):
        answer = ask(context, verb="print", label=label)
        if answer["code"] != 0:
            break
        pid = int(answer["job"]["pid"])
        if pid not in {0, old} or answer["job"]["exit_code"] == _EX_CONFIG:
            return pid
        time.sleep(_KICKSTART_LOOK_S)
    return 0


def _kill(words: list[str], context: Context) -> int:
    if len(words) != 2:
        raise _usage("kill <signame|signum> <service-target>")
    name = words[0].upper().removeprefix("SIG")
    known = {item.name.removeprefix("SIG"): item.value for item in signal.Signals}
    number = int(name) if name.isdigit() else known.get(name, 0)
    if number <= 0:
        raise ExitError(EX_USAGE, err=f"Unknown signal: {words[0]}\n")
    label = _target(words[1])
    if not context.is_root:
        raise ExitError(1, err="Not privileged to signal service.\n")
    code = ask(context, verb="kill", label=label, signal=number)["code"]
    if code == 3:
        raise ExitError(3, err="No process to signal.\n")
    if code != 0:
        raise _not_found(label)
    return 0


def _override(verb: str) -> Callable[[list[str], Context], int]:
    def act(words: list[str], context: Context) -> int:
        if len(words) != 1:
            raise _usage(f"{verb} <service-target>")
        label = _target(words[0])
        if not context.is_root:
            raise ExitError(1, err=f"Could not {verb} service: 1: {_TEXT[1]}\n")
        ask(context, verb=verb, label=label)
        return 0

    return act


def _limit(words: list[str], context: Context) -> int:
    known = [row[0] for row in _OTHER_LIMITS] + ["maxfiles"]
    if words and words[0] not in known:
        raise ExitError(1, err=f"Invalid limit: {words[0]}\n")
    if len(words) in {2, 3}:
        return _set_limit(words, context)
    answer = ask(context, verb="limit")
    hard = "unlimited" if answer["hard"] is None else str(answer["hard"])
    for name, soft, top in (*_OTHER_LIMITS, ("maxfiles", str(answer["soft"]), hard)):
        if not words or words[0] == name:
            context.print(f"\t{name:<12}{soft:<15}{top:<15}")
    return 0


def _set_limit(words: list[str], context: Context) -> int:
    if words[0] != "maxfiles":
        raise ExitError(1, err=f"launchctl: the limit {words[0]} cannot be changed in the simulator\n")
    values = [None if word == "unlimited" else int(word) for word in words[1:] if word.isdigit() or word == "unlimited"]
    if len(values) != len(words) - 1:
        raise ExitError(1, err="Invalid argument: expected a number or unlimited\n")
    soft, hard = values[0], values[-1]
    if not context.is_root:
        raise ExitError(1, err=f"Could not set resource limits: 1: {_TEXT[1]}\n")
    if soft is None or (hard is not None and soft > hard):
        raise ExitError(22, err="Could not set resource limits: 22: Invalid argument\n")
    ask(context, verb="limit", soft=soft, hard=hard)
    return 0


def _load(words: list[str], context: Context) -> int:
    """Load the old way: a failure prints 5 and exits 0."""
    paths = [word for word in words if not word.startswith("-")]
    for word in paths:
        try:
            label = load_spec(Path(word)).label
        except SpecError:
            label = ""
        if "-w" in words and context.is_root and label:
            ask(context, verb="enable", label=label)
        if not context.is_root or ask(context, verb="bootstrap", path=str(Path(word).absolute()))["code"] != 0:
            context.warn(f"Load failed: 5: {_TEXT[5]}")
            context.warn("Try running `launchctl bootstrap` as root for richer errors.")
    return 0


def _unload(words: list[str], context: Context) -> int:
    """Unload the old way: a failure prints 5 and exits 0."""
    for word in (word for word in words if not word.startswith("-")):
        try:
            label = load_spec(Path(word)).label
        except SpecError:
            label = ""
        if "-w" in words and context.is_root and label:
            ask(context, verb="disable", label=label)
        if not context.is_root or ask(context, verb="bootout", label=label)["code"] != 0:
            context.warn(f"Unload failed: 5: {_TEXT[5]}")
            context.warn("Try running `launchctl bootout` as root for richer errors.")
    return 0


def _legacy(verb: str) -> Callable[[list[str], Context], int]:
    """Return start, stop or remove, which take a bare label and print nothing."""

    def act(words: list[str], context: Context) -> int:
        if len(words) != 1:
            raise _usage(f"{verb} <service-name>")
        if not context.is_root:
            return 3
        label = words[0]
        if verb == "start":
            code = ask(context, verb="kickstart", label=label, kill=False)["code"]
        elif verb == "stop":
            code = ask(context, verb="kill", label=label, signal=int(signal.SIGTERM))["code"]
        else:
            code = ask(context, verb="bootout", label=label)["code"]
        return 0 if code == 0 else 3

    return act


_VERBS: dict[str, Callable[[list[str], Context], int]] = {
    "bootstrap": _bootstrap,
    "bootout": _bootout,
    "print": _print,
    "print-disabled": _print_disabled,
    "list": _list,
    "kickstart": _kickstart,
    "kill": _kill,
    "enable": _override("enable"),
    "disable": _override("disable"),
    "limit": _limit,
    "load": _load,
    "unload": _unload,
    "start": _legacy("start"),
    "stop": _legacy("stop"),
    "remove": _legacy("remove"),
}


def run(argv: list[str], context: Context) -> int:
    """Carry out one subcommand."""
    if not argv:
        raise _usage("<subcommand> ... | help [subcommand]")
    if argv == ["version"]:
        context.print("Darwin Bootstrapper Version 7.0.0")
        return 0
    if argv == ["managerpid"]:
        context.print("1")
        return 0
    action = _VERBS.get(argv[0])
    if action is None:
        raise ExitError(
            EX_USAGE,
            err=f"Unrecognized subcommand: {argv[0]}\nUsage: launchctl <subcommand> ... | help [subcommand]\n",
        )
    return action(argv[1:], context)


COMMAND = Command("launchctl", ("/usr/bin/launchctl",), run)
