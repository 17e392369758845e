"""brew: installs the few formulae of core/formulae.py by linking Linux's programs, and refuses root."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from macsim.core.context import Context
from macsim.core.errors import ExitError
from macsim.core.formulae import FORMULAE, Formula
from macsim.core.registry import Command

VERSION = "5.0.3"
_ROOT = (
    "Error: Running Homebrew as root is extremely dangerous and no longer supported.\n"
    "As Homebrew does not drop privileges on installation you would be giving all\n"
    "build scripts full access to your system.\n"
)
_FLAGS = {
    "--formula",
    "--formulae",
    "--quiet",
    "-q",
    "--verbose",
    "-v",
    "--force",
    "-f",
    "--versions",
    "--json=v2",
}


def _keg(context: Context, formula: Formula) -> Path:
    return context.paths.homebrew / "Cellar" / formula.name / formula.version


def _installed(context: Context) -> list[Formula]:
    return [formula for formula in FORMULAE.values() if _keg(context, formula).is_dir()]


def _names(words: list[str]) -> tuple[set[str], list[str]]:
    flags = {word for word in words if word.startswith("-")}
    wrong = sorted(flags - _FLAGS)
    if wrong:
        raise ExitError(1, err=f"Error: invalid option: {wrong[0]}\n")
    # A formula may be named with its tap.
    return flags, [word.removeprefix("homebrew/core/") for word in words if not word.startswith("-")]


def _install(words: list[str], context: Context) -> int:
    _, names = _names(words)
    if not names:
        raise ExitError(1, err="Error: Invalid usage: This command requires at least 1 formula or cask argument.\n")
    unknown = [name for name in names if name not in FORMULAE]
    for name in unknown:
        context.warn(f'Warning: No available formula with the name "{name}".')
        context.print("==> Searching for similarly named formulae and casks...")
        context.warn(f"Error: No formulae or casks found for {name}.")
    if unknown:
        return 1
    for formula in (FORMULAE[name] for name in names):
        keg = _keg(context, formula)
        if keg.is_dir():
            context.warn(
                f"Warning: {formula.name} {formula.version} is already installed and up-to-date.\n"
                f"To reinstall {formula.version}, run:\n  brew reinstall {formula.name}"
            )
            continue
        _pour(formula, context)
    return 0


def _pour(formula: Formula, context: Context) -> None:
    for _, program in formula.programs:
        if not (context.paths.linux_tools / program).exists():
            raise ExitError(
                1,
                err=f'Error: {formula.name}: Failed to download resource "{formula.name}" '
                f"(the container has no {program})\n",
            )
    keg = _keg(context, formula)
    context.print(f"==> Fetching {formula.name}")
    context.print(f"==> Pouring {formula.name}--{formula.version}.arm64_tahoe.bottle.tar.gz")
    try:
        for folder, program in formula.programs:
            (keg / folder).mkdir(parents=True)
            (keg / folder / program).symlink_to(context.paths.linux_tools / program)
            shown = context.paths.homebrew / folder / program
            shown.parent.mkdir(exist_ok=True)
            shown.unlink(missing_ok=True)
            shown.symlink_to(Path("..") / "Cellar" / formula.name / formula.version / folder / program)
        opt = context.paths.homebrew / "opt" / formula.name
        opt.parent.mkdir(exist_ok=True)
        opt.unlink(missing_ok=True)
        opt.symlink_to(Path("..") / "Cellar" / formula.name / formula.version)
    except PermissionError as error:
        shutil.rmtree(keg, ignore_errors=True)
        raise ExitError(
            1,
            err="Error: The following directories are not writable by your user:\n"
            f"{context.paths.homebrew}\n\n"
            "You should change the ownership of these directories to your user.\n",
        ) from error
    context.print(f"🍺  {keg}: 9 files, 412.3KB")


def _uninstall(words: list[str], context: Context) -> int:
    _, names = _names(words)
    for name in names:
        formula = FORMULAE.get(name)
        if formula is None or not _keg(context, formula).is_dir():
            raise ExitError(1, err=f"Error: No such keg: {context.paths.homebrew}/Cellar/{name}\n")
        context.print(f"Uninstalling {_keg(context, formula)}... (9 files, 412.3KB)")
        for folder, program in formula.programs:
            (context.paths.homebrew / folder / program).unlink(missing_ok=True)
        (context.paths.homebrew / "opt" / name).unlink(missing_ok=True)
        shutil.rmtree(context.paths.homebrew / "Cellar" / name)
    return 0


def _list(words: list[str], context: Context) -> int:
    flags, names = _names(words)
    kegs = {formula.name: formula for formula in _installed(context)}
    missing = [name for name in names if name not in kegs]
    if "--versions" in flags:
        for formula in (kegs[name] for name in names or sorted(kegs) if name in kegs):
            context.print(f"{formula.name} {formula.version}")
        return 1 if missing else 0
    if missing:
        raise ExitError(1, err=f"Error: No such keg: {context.paths.homebrew}/Cellar/{missing[0]}\n")
    if not names:
        for name in sorted(kegs):
            context.print(name)
        return 0
    for name in names:
        for folder, program in kegs[name].programs:
            context.print(str(_keg(context, kegs[name]) / folder / program))
    return 0


def _info_entry(formula: Formula, context: Context) -> dict[str, Any]:
    keg = _keg(context, formula)
    installed = [{"version": formula.version, "poured_from_bottle": True, "installed_on_request": True}]
    return {
        "name": formula.name,
        "full_name": formula.name,
        "tap": "homebrew/core",
        "oldnames": [],
        "aliases": [],
        "versioned_formulae": [],
        "desc": formula.summary,
        "versions": {"stable": formula.version, "head": "HEAD", "bottle": True},
        "revision": 0,
        "keg_only": False,
        "installed": installed if keg.is_dir() else [],
        "linked_keg": formula.version if keg.is_dir() else None,
        "pinned": False,
        "outdated": False,
        "deprecated": False,
        "disabled": False,
    }


def _info(words: list[str], context: Context) -> int:
    flags, names = _names(words)
    unknown = [name for name in names if name not in FORMULAE]
    if unknown:
        raise ExitError(1, err=f'Error: No available formula with the name "{unknown[0]}".\n')
    if "--json=v2" in flags:
        entries = [_info_entry(FORMULAE[name], context) for name in names]
        context.print(json.dumps({"formulae": entries, "casks": []}, indent=2))
        return 0
    for formula in (FORMULAE[name] for name in names):
        context.print(f"==> {formula.name}: stable {formula.version} (bottled)")
        context.print(formula.summary)
        keg = _keg(context, formula)
        context.print(f"Installed\n{keg} (9 files, 412.3KB) *" if keg.is_dir() else "Not installed")
    return 0


def _prefix(words: list[str], context: Context) -> int:
    if not words:
        context.print(str(context.paths.homebrew))
        return 0
    if words[0] not in FORMULAE:
        raise ExitError(1, err=f'Error: No available formula with the name "{words[0]}".\n')
    context.print(str(context.paths.homebrew / "opt" / words[0]))
    return 0


def _services(words: list[str], context: Context) -> int:
    if words not in ([], ["list"]):
        raise ExitError(
            1, err="Error: brew services other than list is not simulated; write a launchd job of your own\n"
        )
    context.print("Name          Status  User  File")
    for formula in _installed(context):
        if formula.name == "babeld":
            context.print(f"{formula.name:<13} none")
    return 0


def run(argv: list[str], context: Context) -> int:
    """Carry out one command; root may only ask for the prefix, the version and the services."""
    words = list(argv)
    verb = words.pop(0) if words else ""
    if context.is_root and verb not in {"--prefix", "--version", "-v", "services"}:
        raise ExitError(1, err=_ROOT)
    if verb in {"--version", "-v"}:
        context.print(f"Homebrew {VERSION}")
    elif verb == "--prefix":
        return _prefix(words, context)
    elif verb in {"--cellar", "--repository"}:
        context.print(f"{context.paths.homebrew}{'/Cellar' if verb == '--cellar' else ''}")
    elif verb == "update":
        context.print("Already up-to-date.")
    elif verb == "outdated":
        return 0
    elif verb in {"list", "ls"}:
        return _list(words, context)
    elif verb == "info":
        return _info(words, context)
    elif verb == "install":
        return _install(words, context)
    elif verb in {"uninstall", "remove", "rm"}:
        return _uninstall(words, context)
    elif verb == "services":
        return _services(words, context)
    else:
        raise ExitError(1, err=f"Error: Unknown command: brew {verb}\n")
    return 0


COMMAND = Command("brew", ("/opt/homebrew/bin/brew",), run)
