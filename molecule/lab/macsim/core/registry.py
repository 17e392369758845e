"""Which commands there are: every file in commands/ that declares a COMMAND."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from macsim.core.context import Context


class Command(NamedTuple):
    """One simulated command.

    Attributes:
        name: What it is called, and what its messages begin with.
        paths: Where it lies on a Mac.
        run: Takes the arguments without the name and the context; returns the exit status.
    """

    name: str
    paths: tuple[str, ...]
    run: Callable[[list[str], Context], int]


def module_names() -> list[str]:
    """Return the module of each command, in order."""
    here = Path(__file__).resolve().parent.parent / "commands"
    return sorted(path.stem for path in here.glob("*.py") if not path.stem.startswith("_"))


def find(module: str) -> Command:
    """Import one command's file and return what it declares.

    Raises:
        ValueError: The file declares no COMMAND.
    """
    command = getattr(importlib.import_module(f"macsim.commands.{module}"), "COMMAND", None)
    if not isinstance(command, Command):
        raise ValueError(f"commands/{module}.py declares no COMMAND; README.md shows how one looks")
    return command


def by_name(name: str) -> Command:
    """Return the command of that name, whatever its file is called.

    Raises:
        KeyError: No file declares it.
    """
    for module in module_names():
        command = find(module)
        if command.name == name:
            return command
    raise KeyError(f"no file in commands/ declares {name!r}")
