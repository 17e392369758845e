"""The Python that reports Darwin: a virtual environment of the system's Python with one extra module."""

from __future__ import annotations

import sys
from pathlib import Path

from macsim.core.paths import Paths
from macsim.setup.write import link, write


def install(paths: Paths, interpreter: Path = Path("/usr/bin/python3")) -> list[str]:
    """Make /opt/macsim/bin/python3. It sees the system's packages; what it starts runs on the plain Python."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = paths.simulator / "lib" / version / "site-packages"
    source = Path(__file__).resolve().parent.parent / "darwin/macsim_darwin.py"
    changed = link(paths.simulator / "bin/python3", str(interpreter))
    changed += write(
        paths.simulator / "pyvenv.cfg",
        f"home = {interpreter.parent}\ninclude-system-site-packages = true\n"
        f"version = {sys.version_info.major}.{sys.version_info.minor}.{sys.version_info.micro}\n",
    )
    changed += write(packages / "macsim_darwin.py", source.read_text())
    changed += write(
        packages / "macsim.pth", f'import macsim_darwin; macsim_darwin.install("{paths.simulator.parent}")\n'
    )
    return changed
