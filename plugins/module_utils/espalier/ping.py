"""What ping measured, from the summary that macOS, iputils and busybox print."""

from __future__ import annotations

import re
from typing import Any

# macOS: "round-trip min/avg/max/stddev = 61.5/62.6/65.0/1.3 ms"; Linux: "rtt min/avg/max/mdev = ...".
_RTT = re.compile(r"min/avg/max(?:/\w+)?\s*=\s*[\d.]+/(?P<avg>[\d.]+)/[\d.]+(?:/[\d.]+)?\s*ms")
# "4 packets transmitted, 4 packets received, 0.0% packet loss", "4 packets transmitted, 4 received, 0%
# packet loss"
_COUNT = re.compile(r"(?P<sent>\d+) packets transmitted, (?P<received>\d+) (?:packets )?received")


def parse_ping(text: str) -> dict[str, Any]:
    """Read ping's output.

    Returns:
        `rtt_ms`, the mean round trip in milliseconds or None, `sent`, `received` (None when ping said
        nothing of it), and `error`, None when at least one answer came and was timed.
    """
    count = _COUNT.search(text)
    sent = int(count["sent"]) if count else None
    received = int(count["received"]) if count else None
    rtt = _RTT.search(text)
    result: dict[str, Any] = {"rtt_ms": None, "sent": sent, "received": received, "error": None}
    if rtt is not None and received:
        result["rtt_ms"] = float(rtt["avg"])
    elif count is not None and not received:
        result["error"] = f"ping: none of {sent} packets was answered"
    else:
        said = " ".join(text.split())[-200:]
        result["error"] = f"ping printed no round trip: {said}" if said else "ping printed nothing"
    return result
