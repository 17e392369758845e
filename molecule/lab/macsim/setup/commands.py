"""Puts a small program at the real path of each simulated command, and moves Linux's own aside."""

from __future__ import annotations

import compileall
import shutil
from pathlib import Path

from macsim.core import registry
from macsim.core.formulae import FORMULAE
from macsim.core.paths import Paths
from macsim.setup.write import write

MARK = "# A command of the simulated Mac."
# Where Debian keeps programs; a program that brew installs must not be found there before.
_DEBIAN_FOLDERS = ("/usr/sbin", "/usr/bin")


def wrapper(paths: Paths, call: str) -> str:
    """Return a program that calls a function of the simulator, given as module:function(arguments)."""
    module, function = call.split(":", 1)
    return (
        "#!/usr/bin/python3 -IS\n"
        f"{MARK}\n"
        "import sys\n\n"
        f'sys.path.insert(0, "{paths.simulator.parent}")\n'
        f"from {module} import {function.partition('(')[0]}\n\n"
        f"sys.exit({function})\n"
    )


def _move_aside(path: Path, paths: Paths) -> list[str]:
    """Keep the program that Linux has at this path below the simulator."""
    if not path.exists() or MARK.encode() in path.read_bytes()[:200]:
        return []
    paths.linux_tools.mkdir(parents=True, exist_ok=True)
    target = paths.linux_tools / path.name
    if path.is_symlink():
        # A link such as awk -> alternatives would break when it moves; a copy of its target works anywhere.
        shutil.copy2(path.resolve(), target)
        path.unlink()
    else:
        shutil.move(path, target)
    return [f"moved {path} to {target}"]


def install(paths: Paths) -> list[str]:
    """Install every command, and hide what only brew may bring."""
    changed: list[str] = []
    for module in registry.module_names():
        command = registry.find(module)
        for name in command.paths:
            path = paths.at(name)
            changed += _move_aside(path, paths)
            changed += write(path, wrapper(paths, f'macsim.core.run:main("{module}")'), 0o755)
    for formula in FORMULAE.values():
        for _, program in formula.programs:
            for folder in _DEBIAN_FOLDERS:
                changed += _move_aside(paths.at(f"{folder}/{program}"), paths)
    compileall.compile_dir(paths.simulator, quiet=2)
    return changed
