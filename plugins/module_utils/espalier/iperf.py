"""What iperf3 measured, from its JSON output."""

from __future__ import annotations

import json
import math
from typing import Any

# iperf3 ends its lists of the measured sums with one of these; with --reverse or UDP they stand there alike.
_RECEIVED = "sum_received"
_UDP = "sum"


def parse_iperf(text: str) -> dict[str, Any]:
    """Read one run's `iperf3 -J` output.

    What arrived counts, not what was handed to the kernel: `gbit_s` is the receiver's rate in 10^9 bit/s.
    It is None when nothing was measured, and then `error` says why.

    Args:
        text: standard output of iperf3; lines before or after the JSON object are tolerated.

    Returns:
        `gbit_s`, `bytes`, `seconds`, `retransmits` (of the sender, None where the system does not count
        them), `error` (None when it was measured).
    """
    empty: dict[str, Any] = {"gbit_s": None, "bytes": None, "seconds": None, "retransmits": None}
    begin = text.find("{")
    if begin < 0:
        said = " ".join(text.split())[:200]
        return {**empty, "error": f"iperf3 printed no JSON: {said}" if said else "iperf3 printed nothing"}
    try:
        report, _ = json.JSONDecoder().raw_decode(text[begin:])
    except ValueError as error:
        return {**empty, "error": f"iperf3's JSON is cut off or damaged: {error}"}
    if report.get("error"):
        return {**empty, "error": f"iperf3: {str(report['error']).strip()}"}
    end = report.get("end")
    end = end if isinstance(end, dict) else {}
    received = end.get(_RECEIVED) or end.get(_UDP)
    rate = received.get("bits_per_second") if isinstance(received, dict) else None
    if not isinstance(received, dict) or not isinstance(rate, (int, float)) or not math.isfinite(rate) or rate <= 0:
        return {**empty, "error": "iperf3 ended without a measured rate: nothing arrived"}
    sent = end.get("sum_sent")
    retransmits = sent.get("retransmits") if isinstance(sent, dict) else None
    return {
        "gbit_s": round(rate / 1e9, 6),
        "bytes": received.get("bytes"),
        "seconds": received.get("seconds"),
        "retransmits": retransmits,
        "error": None,
    }
