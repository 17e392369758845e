"""The folders and files that a Mac has."""

from __future__ import annotations

import plistlib
import shutil
from pathlib import Path

from macsim.core import system
from macsim.core.paths import Paths
from macsim.setup.write import link, write

_FOLDERS = (
    ("/Library/LaunchDaemons", 0o755),
    ("/Library/LaunchAgents", 0o755),
    ("/Library/Logs", 0o755),
    ("/Library/Developer/CommandLineTools/usr/bin", 0o755),
    ("/System/Library/LaunchDaemons", 0o755),
    ("/Applications", 0o775),
    ("/Volumes", 0o755),
    ("/opt/homebrew", 0o755),
    ("/private", 0o755),
    ("/var/db/macsim", 0o755),
    # Every user's calls are logged.
    ("/var/log/macsim", 0o777),
)
_LINKS = (
    ("/private/etc", "/etc"),
    ("/private/var", "/var"),
    ("/private/tmp", "/tmp"),
    ("/Users", "/home"),
    ("/var/root", "/root"),
)
# What sshd of a Mac gives a command that is run without a login shell (_PATH_STDPATH of its paths.h).
_ENVIRONMENT = "PATH=/usr/bin:/bin:/usr/sbin:/sbin\n"


def install(paths: Paths, node_config: Path) -> list[str]:
    """Make folders, links, the description of this node, and the file that names the release."""
    changed: list[str] = []
    for name, mode in _FOLDERS:
        folder = paths.at(name)
        if not folder.is_dir():
            folder.mkdir(parents=True)
            folder.chmod(mode)
            changed.append(f"made {folder}")
    for name, target in _LINKS:
        changed += link(paths.at(name), target)
    if not paths.node_config.exists() or not paths.node_config.samefile(node_config):
        changed += write(paths.node_config, node_config.read_text())
    if not paths.call_log.exists():
        paths.call_log.touch()
        paths.call_log.chmod(0o666)
        changed.append(f"made {paths.call_log}")
    version = plistlib.dumps(
        {
            "ProductName": system.PRODUCT_NAME,
            "ProductVersion": system.PRODUCT_VERSION,
            "ProductUserVisibleVersion": system.PRODUCT_VERSION,
            "ProductBuildVersion": system.BUILD_VERSION,
        }
    ).decode()
    changed += write(paths.at("/System/Library/CoreServices/SystemVersion.plist"), version)
    changed += write(paths.etc / "environment", _ENVIRONMENT)
    return changed


def own_homebrew(paths: Paths, uid: int, gid: int) -> None:
    """Give Homebrew's folder to the user who installed it, as on a Mac."""
    for folder in (
        paths.homebrew,
        *(paths.homebrew / name for name in ("bin", "sbin", "opt", "Cellar", "etc", "var")),
    ):
        folder.mkdir(parents=True, exist_ok=True)
        shutil.chown(folder, uid, gid)
    # brew itself too: whoever runs it looks at its owner, since brew refuses everyone else.
    if (paths.homebrew / "bin" / "brew").exists():
        shutil.chown(paths.homebrew / "bin" / "brew", uid, gid)
