"""The service that stands for launchd: a socket for launchctl, and the children that it reaps."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import struct
import time

from macsim.core.context import Context
from macsim.launchd.core import Launchd

# What a user who is not root may ask.
_OPEN_VERBS = {"print", "list", "disabled"}
_REQUEST_BYTES = 65536


def _give_session_limits(launchd: Launchd, context: Context) -> None:
    """Give new sessions launchd's soft limit of open files: on a Mac it is launchd that starts them.

    Linux's sshd and sudo take the limit from pam_limits(8).
    """
    path = context.paths.etc / "security/limits.d/macsim.conf"
    lines = [f"{who} soft nofile {launchd.soft_files}\n" for who in ("*", "root")]
    try:
        path.write_text("".join(lines))
    except OSError as error:
        print(f"macsim-launchd: {path}: {error.strerror}; sessions keep their limit of open files", flush=True)


def _tell_ready() -> None:
    """Tell systemd that jobs are loaded and requests are answered (sd_notify(3)); nothing without systemd."""
    name = os.environ.get("NOTIFY_SOCKET", "")
    if not name:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
        notify.connect("\0" + name[1:] if name.startswith("@") else name)
        notify.send(b"READY=1")


def _reap(launchd: Launchd) -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        launchd.ended(pid, os.waitstatus_to_exitcode(status))


def _answer(connection: socket.socket, launchd: Launchd, context: Context) -> None:
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    uid = struct.unpack("3i", raw)[1]
    request = json.loads(connection.recv(_REQUEST_BYTES))
    reads = request["verb"] in _OPEN_VERBS or (request["verb"] == "limit" and "soft" not in request)
    answer = launchd.handle(request) if uid == 0 or reads else {"code": 1}
    if request["verb"] == "limit" and "soft" in request:
        _give_session_limits(launchd, context)
    connection.sendall(json.dumps(answer).encode())


def main() -> int:
    """Run until the container stops."""
    context = Context()
    launchd = Launchd(context, time.monotonic)
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    signal.set_wakeup_fd(wake_write)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    path = context.paths.launchd_socket
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    server.bind(str(path))
    path.chmod(0o666)
    server.listen(64)
    _give_session_limits(launchd, context)
    launchd.load_all()
    _tell_ready()
    while True:
        _reap(launchd)
        ready = select.select([server.fileno(), wake_read], [], [], launchd.tick())[0]
        if wake_read in ready:
            os.read(wake_read, 4096)
        if server.fileno() in ready:
            connection, _ = server.accept()
            with connection:
                connection.settimeout(5)
                try:
                    _answer(connection, launchd, context)
                except (OSError, ValueError, KeyError) as error:
                    print(f"macsim-launchd: a request could not be answered: {error!r}", flush=True)
