"""After a collective failed: which ranks were in it, and which never came.

Every rank that sees a failure leaves a note in the store, then looks for the others' notes for a moment.
A rank without one is dead, stopped, cut off, or busy elsewhere: that is the one to look at.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from torch._C._distributed_c10d import Store

LISTEN_S = 2.0
# A store whose host has vanished can block a call for good, so the whole conversation has a limit of its own.
GIVE_UP_S = 4.0


def absent_ranks(store: Store, rank: int, size: int, call: str) -> Sequence[int] | None:
    """The ranks of the group that did not report the same failed call.

    Args:
        store: The group's store.
        rank: This rank in the group.
        size: The ranks of the group.
        call: Identifies the collective; the same text on every rank that is in it.

    Returns:
        Ranks in the group, or None when the store does not answer (its host, rank 0, is gone).
    """
    answer: list[Sequence[int]] = []

    def ask() -> None:
        try:
            store.set(f"failed/{call}/{rank}", "1")
            waiting = [other for other in range(size) if other != rank]
            deadline = time.monotonic() + LISTEN_S
            while waiting and time.monotonic() < deadline:
                waiting = [other for other in waiting if not store.check([f"failed/{call}/{other}"])]
                time.sleep(0.05)
            answer.append(waiting)
        except RuntimeError:
            return

    thread = threading.Thread(target=ask, name="espalier-roll-call", daemon=True)
    thread.start()
    thread.join(GIVE_UP_S)
    return answer[0] if answer else None
