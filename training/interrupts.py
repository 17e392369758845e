"""Ctrl-C and SIGTERM: status 130 and no traceback, even in the middle of a collective.

A signal handler of Python runs on the main thread, between two of its instructions. While the main thread
waits inside gloo it does not come to that, so a second thread, woken by the signal itself, ends the process
when the main thread has not done it after a while.
"""

import os
import signal
import socket
import sys
import threading
from types import FrameType

from training.errors import EXIT_INTERRUPTED, InterruptedRunError

SIGNALS = (signal.SIGINT, signal.SIGTERM)
# Long enough to close files and tell the other ranks.
GRACE_S = 2.0


class Interrupts:
    """Turns the first signal into an InterruptedRunError on the main thread; later ones change nothing."""

    def __init__(self) -> None:
        self.received: str | None = None
        # The wake-up pipe must outlive this object's frame, so it is kept here.
        self._reader, self._writer = socket.socketpair()

    def install(self) -> None:
        """Takes over the signals that are not ignored. Call it on the main thread."""
        self._writer.setblocking(False)
        signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        for number in SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._handle)
        threading.Thread(target=self._watch, name="espalier-interrupts", daemon=True).start()

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        if self.received is None:
            self.received = signal.Signals(number).name
            raise InterruptedRunError(f"ended by {self.received}")

    def _watch(self) -> None:
        numbers = self._reader.recv(1)
        while numbers and numbers[0] not in SIGNALS:
            numbers = self._reader.recv(1)
        if not numbers:
            return
        threading.Event().wait(GRACE_S)
        sys.stderr.flush()
        os._exit(EXIT_INTERRUPTED)


def end_with_parent(sentinel: int) -> None:
    """Ends this process when the one that started it is gone, however it went.

    Args:
        sentinel: What becomes readable when the parent ends (`multiprocessing.parent_process().sentinel`).
    """
    from multiprocessing.connection import wait

    def watch() -> None:
        wait([sentinel])
        os._exit(EXIT_INTERRUPTED)

    threading.Thread(target=watch, name="espalier-parent", daemon=True).start()
