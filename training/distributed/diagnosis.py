"""Turns gloo's error into a sentence about ranks, nodes and cables."""

from __future__ import annotations

import re
from collections.abc import Sequence

from training.distributed.fabric_view import FabricView
from training.distributed.roll_call import RollCall

# [/path/to/gloo/pair.cc:553] in front, and well-meant advice behind.
_SOURCE = re.compile(r"\[[^\]\s]+\.(?:cc|cpp|h):\d+\]\s*")
_ADVICE = re.compile(r"\. This is typically.*")
# How torch's C++ code quotes an exception of Python.
_WRAPPED = re.compile(r"CollectiveError: (.*)")


def plain(text: str) -> str:
    """The first line of an error of gloo without source lines and advice."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "no message")
    return _ADVICE.sub("", _SOURCE.sub("", line))


def wrapped_diagnosis(text: str) -> str | None:
    """The sentence of a CollectiveError inside an error of torch's C++ code, or None."""
    match = _WRAPPED.search(text)
    return match[1] if match else None


def diagnose(
    text: str,
    *,
    what: str,
    rank: int,
    view: FabricView,
    roll_call: RollCall | None,
    timeout_s: float,
    peer: int | None = None,
) -> str:
    """A sentence that says what failed, who is to blame, and which cable leads there.

    Args:
        text: gloo's message.
        what: The collective, such as `all_reduce number 7 of 4096 bytes`.
        rank: This rank in the world.
        view: Names, addresses and cables.
        roll_call: Asks the other ranks; None where nobody can be asked.
        timeout_s: The group's timeout.
        peer: The other world rank, for calls between two.
    """
    sentence = f"{view.name(rank)}: {what} failed: "
    sentence += f"no answer within {timeout_s:g} s" if "imed out" in text else "a connection was lost"
    culprits = _culprits(text, view, roll_call, peer)
    if culprits is None:
        sentence += f". The store on {view.name(0)} does not answer either"
        culprits = [0] if rank else []
    for culprit in culprits:
        cables = view.cables_to(culprit)
        sentence += f". Look at {view.name(culprit)}" + (f", by cable {cables}" if cables else "")
    return f"{sentence}. (gloo: {plain(text)})"


def _culprits(text: str, view: FabricView, roll_call: RollCall | None, peer: int | None) -> Sequence[int] | None:
    """World ranks to look at; None when the store does not answer."""
    absent = roll_call.absent() if roll_call else []
    if absent:
        return absent
    if peer is not None:
        return [peer]
    named = view.rank_in(text)
    if named is not None:
        return [named]
    return absent
