"""Starts the process of a job as launchd does: own session, own limits, only the declared environment."""

from __future__ import annotations

import grp
import os
import pwd
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from macsim.launchd.spec import Spec

DEFAULT_PATH = "/usr/bin:/bin:/usr/sbin:/sbin"


def file_limits(
    spec: Spec, launchd_soft: int, launchd_hard: int | None, per_process: int, ceiling: int
) -> tuple[int, int]:
    """Decide the limits of open files of a job.

    Args:
        spec: The job; its own limits come before launchd's.
        launchd_soft: launchd's soft limit.
        launchd_hard: launchd's hard limit, None when unlimited.
        per_process: kern.maxfilesperproc, which no process gets beyond.
        ceiling: What the container allows at all.
    """
    hard = spec.hard_files if spec.hard_files is not None else launchd_hard
    hard = ceiling if hard is None else min(hard, per_process, ceiling)
    soft = spec.soft_files if spec.soft_files is not None else launchd_soft
    return min(soft, per_process, hard), hard


def environment(spec: Spec) -> dict[str, str]:
    """Return the environment of a job: a short path, its name, what is declared, and who the user is."""
    values = {"PATH": DEFAULT_PATH, "XPC_SERVICE_NAME": spec.label}
    if spec.user:
        user = pwd.getpwnam(spec.user)
        values |= {"USER": user.pw_name, "LOGNAME": user.pw_name, "HOME": user.pw_dir, "SHELL": user.pw_shell}
    return values | spec.environment


@contextmanager
def _acting_as(user: pwd.struct_passwd | None, group: int | None) -> Iterator[None]:
    """Open files as the job's user, so that one that the user may not write is noticed as on a Mac."""
    if user is None or os.geteuid() != 0:
        yield
        return
    os.setegid(user.pw_gid if group is None else group)
    os.seteuid(user.pw_uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


def spawn(spec: Spec, limits: tuple[int, int]) -> int:
    """Start the process; return its number, or 0 when the program or one of its files cannot be opened."""
    try:
        user = pwd.getpwnam(spec.user) if spec.user else None
        group = grp.getgrnam(spec.group).gr_gid if spec.group else None
    except KeyError as error:
        print(f"{spec.label}: {error}", file=sys.stderr, flush=True)
        return 0
    opened: list[int] = []

    def stream(path: str, flags: int) -> int:
        handle = os.open(path or "/dev/null", flags if path else os.O_RDWR, 0o644)
        opened.append(handle)
        return handle

    def prepare() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        if spec.nice:
            os.nice(spec.nice)

    write = os.O_WRONLY | os.O_APPEND | os.O_CREAT
    try:
        with _acting_as(user, group):
            stdin = stream(spec.stdin, os.O_RDONLY)
            stdout = stream(spec.stdout, write)
            stderr = stream(spec.stderr, write)
        # The daemon has one thread, so a function between fork and exec is safe.
        process = subprocess.Popen(
            list(spec.arguments),
            executable=None if spec.inferred else spec.program,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            cwd=spec.directory or "/",
            env=environment(spec),
            user=user.pw_uid if user else None,
            group=group if group is not None else (user.pw_gid if user else None),
            extra_groups=os.getgrouplist(user.pw_name, user.pw_gid) if user and os.geteuid() == 0 else None,
            umask=-1 if spec.umask is None else spec.umask,
            start_new_session=True,
            preexec_fn=prepare,
        )
    except (OSError, subprocess.SubprocessError) as error:
        print(f"{spec.label}: {error}", file=sys.stderr, flush=True)
        return 0
    finally:
        for handle in opened:
            os.close(handle)
    # The daemon reaps its children itself; this object must not.
    process.returncode = 0
    return process.pid
