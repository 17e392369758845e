"""After a failure: which ranks noticed it too, which never came, and whether one of them said why it ended.

Every rank whose collective failed leaves a note in the store, then looks for the others' notes for a moment.
A rank without one is dead, stopped, cut off, or busy elsewhere: that is the one to look at. A rank that ends
for a reason of its own leaves that reason instead, so that the others can repeat it.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TypeVar

from torch._C._distributed_c10d import Store

LISTEN_S = 2.0
# A store whose host has vanished can block a call for good, so every conversation has a limit of its own.
GIVE_UP_S = 4.0

T = TypeVar("T")


@dataclass(frozen=True)
class Farewell:
    """Why a rank ended by itself.

    Attributes:
        rank: The rank.
        status: Its exit status.
        reason: Its message.
    """

    rank: int
    status: int
    reason: str


class RollCall:
    """The notes of the ranks of one run."""

    def __init__(self, store: Store, rank: int, size: int) -> None:
        self._store, self._rank, self._size = store, rank, size

    def absent(self) -> Sequence[int] | None:
        """Notes that this rank saw a failure; the ranks that did not say the same.

        Returns:
            World ranks, or None when the store does not answer (its host, the first rank, is gone).
        """

        def ask() -> Sequence[int]:
            self._store.set(f"failed/{self._rank}", "1")
            waiting = [other for other in range(self._size) if other != self._rank]
            deadline = time.monotonic() + LISTEN_S
            while waiting and time.monotonic() < deadline:
                waiting = [other for other in waiting if not self._store.check([f"failed/{other}"])]
                time.sleep(0.05)
            return waiting

        return _within(GIVE_UP_S, ask)

    def say_farewell(self, status: int, reason: str) -> None:
        """Tells the others why this rank ends."""
        note = json.dumps(asdict(Farewell(self._rank, status, reason)))
        _within(GIVE_UP_S, lambda: self._store.compare_set("farewell", "", note))

    def farewell(self) -> Farewell | None:
        """The reason of the first rank that ended by itself, or None."""
        note = _within(GIVE_UP_S, lambda: self._store.get("farewell") if self._store.check(["farewell"]) else b"")
        return Farewell(**json.loads(note)) if note else None


def _within(seconds: float, ask: Callable[[], T]) -> T | None:
    """The answer of a call to the store, or None when it failed or took longer."""
    answer: list[T] = []

    def run() -> None:
        with contextlib.suppress(RuntimeError):
            answer.append(ask())

    thread = threading.Thread(target=run, name="espalier-roll-call", daemon=True)
    thread.start()
    thread.join(seconds)
    return answer[0] if answer else None
