"""The image of a rack's machines: Debian with systemd, made by mmdebstrap, kept as a file between labs.

The file is the one thing that outlives a lab: `~/.cache/espalier/lab`, or the folder in ESPALIER_CACHE.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import sys
from pathlib import Path

from lab_plan import LabError
from lab_podman import podman, run

SUITE = "bookworm"
KEPT_ARCHIVES = 2
REPOSITORY = "localhost/espalier-lab"
PACKAGES = (
    *("systemd", "systemd-sysv", "dbus", "sudo", "openssh-server", "ca-certificates", "procps", "less"),
    *("python3", "python3-venv", "libgomp1"),
    *("iproute2", "iputils-ping", "iperf3", "ethtool", "babeld"),
)
# The container's network is podman's, its clock this machine's, and Espalier brings its own unit for babeld.
MASKED = (
    *("babeld", "iperf3", "systemd-networkd", "systemd-resolved", "systemd-timesyncd", "systemd-udevd"),
    *("getty.target", "console-getty"),
    # Nothing starts by itself in the middle of a measurement.
    *("apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "e2scrub_all.timer"),
)
SSHD = (
    *("PasswordAuthentication no", "PermitRootLogin no", "AllowUsers admin"),
    *("MaxStartups 100", "MaxSessions 100", "UseDNS no"),
)
HOOKS = (
    *(f'chroot "$1" systemctl mask {unit}' for unit in MASKED),
    # Each machine makes host keys of its own; sshd is switched on once it has them.
    'chroot "$1" systemctl disable ssh.service && rm -f "$1"/etc/ssh/ssh_host_*',
    f'printf "%s\\n" {" ".join(shlex.quote(line) for line in SSHD)} > "$1"/etc/ssh/sshd_config.d/lab.conf',
    # Under cgroup v1 a container's systemd is not told when a service's last process is gone, and would wait 90 s.
    'mkdir -p "$1"/etc/systemd/system.conf.d',
    'printf "[Manager]\\nDefaultTimeoutStopSec=5s\\n" > "$1"/etc/systemd/system.conf.d/lab.conf',
    'chroot "$1" useradd --create-home --shell /bin/bash --uid 501 admin',
    'echo "admin ALL=(ALL) NOPASSWD: ALL" > "$1"/etc/sudoers.d/admin && chmod 0440 "$1"/etc/sudoers.d/admin',
    # A login through pam_systemd waits for a session bus that a container does not need.
    'sed -i "/pam_systemd/d" "$1"/etc/pam.d/common-session',
    'rm -rf "$1"/var/lib/apt/lists/* "$1"/var/cache/apt/*.bin "$1"/usr/share/doc "$1"/usr/share/man',
)


def tag() -> str:
    """The image's name; another recipe is another image."""
    recipe = "\n".join((SUITE, *PACKAGES, *HOOKS))
    return f"{REPOSITORY}:{hashlib.sha256(recipe.encode()).hexdigest()[:12]}"


def cache_folder() -> Path:
    """Where the root file system is kept."""
    return Path(os.environ.get("ESPALIER_CACHE", Path.home() / ".cache" / "espalier")) / "lab"


def ensure_image() -> bool:
    """Make the image unless it is there; whether something had to be done.

    Raises:
        LabError: mmdebstrap or podman failed.
    """
    name = tag()
    if _exists(name):
        return False
    archive = cache_folder() / f"{name.rpartition(':')[2]}.tar"
    if not archive.exists():
        archive.parent.mkdir(parents=True, exist_ok=True)
        print(f"making the root file system {archive}", file=sys.stderr)
        for leftover in archive.parent.glob("*.part"):
            leftover.unlink()
        part = archive.with_suffix(".part")
        try:
            # No mirror argument: mmdebstrap then uses this machine's own apt sources and settings.
            hooks = [f"--customize-hook={hook}" for hook in HOOKS]
            packages = f"--include={','.join(PACKAGES)}"
            options = ["--quiet", "--variant=minbase", "--format=tar", packages, *hooks]
            run(["mmdebstrap", *options, SUITE, part], ends_with_us=True)
            part.replace(archive)
        finally:
            part.unlink(missing_ok=True)
        _forget_old_archives(archive)
    try:
        podman("import", "--quiet", archive, name)
    except LabError as error:
        archive.unlink()
        raise LabError(
            f"{archive} could not be imported and is removed; run this again to make it anew. {error}"
        ) from error
    return True


def _forget_old_archives(newest: Path) -> None:
    """Keep the newest file and one of an earlier recipe, which another checkout may use."""
    archives = sorted(newest.parent.glob("*.tar"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in archives[KEPT_ARCHIVES:]:
        path.unlink()


def _exists(name: str) -> bool:
    return name in podman("images", "--format", "{{.Repository}}:{{.Tag}}").split()


def remove_images(keep: str = "") -> None:
    """Remove the lab's images that no container uses, but for `keep`; the cached file stays."""
    for name in podman("images", "--format", "{{.Repository}}:{{.Tag}}").split():
        if name == keep or not name.startswith(f"{REPOSITORY}:"):
            continue
        if not podman("ps", "-aq", "--filter", f"ancestor={name}").split():
            podman("rmi", name, check=False)
