"""Makes one Python report Darwin: the one that Ansible's modules run on (loaded by macsim.pth).

Only this interpreter is changed, never the programs that it starts: nothing is put in the environment.
"""

import os
import sys

# Paths that a Mac does not have and by which Ansible recognises a Linux.
_HIDDEN = (
    "/proc",
    "/sys",
    "/run/systemd",
    "/usr/bin/apt-get",
    "/usr/bin/apt",
    "/usr/bin/dpkg",
    "/etc/os-release",
)


def install(simulator: str) -> None:
    """Replace os.uname, and hide the Linux paths from os.stat, os.lstat and os.access."""
    sys.path.append(simulator)
    try:
        from macsim.core import system
    finally:
        sys.path.remove(simulator)
    real_uname, real_stat, real_lstat, real_access = os.uname, os.stat, os.lstat, os.access

    def hidden(path: object) -> bool:
        if isinstance(path, bytes):
            path = os.fsdecode(path)
        if not isinstance(path, (str, os.PathLike)):
            return False
        text = os.fspath(path)
        return any(text == name or text.startswith(f"{name}/") for name in _HIDDEN)

    def uname() -> os.uname_result:
        node = real_uname().nodename
        return os.uname_result(("Darwin", node, system.KERNEL_RELEASE, system.KERNEL_VERSION, system.MACHINE))

    def stat(path, *args, **kwargs):  # type: ignore[no-untyped-def]
        if hidden(path):
            raise FileNotFoundError(2, "No such file or directory", path)
        return real_stat(path, *args, **kwargs)

    def lstat(path, *args, **kwargs):  # type: ignore[no-untyped-def]
        if hidden(path):
            raise FileNotFoundError(2, "No such file or directory", path)
        return real_lstat(path, *args, **kwargs)

    def access(path, *args, **kwargs):  # type: ignore[no-untyped-def]
        return not hidden(path) and real_access(path, *args, **kwargs)

    # shutil and pathlib look the functions up in these sets before they use a safer way.
    for supported in (
        os.supports_dir_fd,
        os.supports_fd,
        os.supports_follow_symlinks,
        os.supports_effective_ids,
    ):
        for real, new in ((real_stat, stat), (real_access, access)):
            if real in supported:
                supported.add(new)
    os.uname, os.stat, os.lstat, os.access = uname, stat, lstat, access
