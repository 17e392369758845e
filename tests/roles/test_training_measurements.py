"""iperf3's JSON and ping's summary: what arrived is the number; what did not has a reason and no number."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from espalier.iperf import parse_iperf
from espalier.ping import parse_ping
from hypothesis import given
from hypothesis import strategies as st

FIXTURES = os.environ.get("ESPALIER_FIXTURES")


def report(**end: object) -> str:
    return json.dumps({"start": {"version": "iperf 3.17"}, "intervals": [], "end": end})


def rate(bits: float, **more: object) -> dict[str, object]:
    return {"bits_per_second": bits, "bytes": 1250000000, "seconds": 1.0, **more}


def test_the_receiver_counts_and_not_the_sender() -> None:
    result = parse_iperf(report(sum_sent=rate(12e9, retransmits=7), sum_received=rate(9.87e9)))
    assert result == {"gbit_s": 9.87, "bytes": 1250000000, "seconds": 1.0, "retransmits": 7, "error": None}


def test_old_udp_reports_have_one_sum() -> None:
    assert parse_iperf(report(sum=rate(5e6)))["gbit_s"] == 0.005


def test_macs_count_no_retransmissions() -> None:
    assert parse_iperf(report(sum_sent=rate(1e9), sum_received=rate(1e9)))["retransmits"] is None


def test_text_around_the_json_is_tolerated() -> None:
    text = f"Welcome to mac1\n{report(sum_received=rate(1e9))}\niperf Done.\n"
    assert parse_iperf(text)["gbit_s"] == 1.0


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "iperf3 printed nothing"),
        ("bash: iperf3: command not found\n", "printed no JSON: bash: iperf3: command not found"),
        (report(sum_received=rate(1e9))[:-20], "cut off or damaged"),
        (
            json.dumps({"start": {}, "end": {}, "error": "unable to connect to server: Connection refused"}),
            "refused",
        ),
        (
            json.dumps({"error": "the server is busy", "end": {"sum_received": rate(1e9)}}),
            "the server is busy",
        ),
        (report(), "nothing arrived"),
        (report(sum_received=rate(0.0)), "nothing arrived"),
        ('{"end": {"sum_received": {"bits_per_second": NaN}}}', "nothing arrived"),
        ('{"end": null}', "nothing arrived"),
        ('{"end": {"sum_received": 3}}', "nothing arrived"),
    ],
)
def test_a_failed_measurement_has_a_reason_and_no_number(text: str, reason: str) -> None:
    result = parse_iperf(text)
    assert reason in result["error"]
    assert result["gbit_s"] is None


@given(st.text())
def test_no_text_breaks_the_parsers(text: str) -> None:
    for result in (parse_iperf(text), parse_iperf("{" + text), parse_ping(text)):
        assert result["error"]


MAC_PING = """PING 10.77.1.2 (10.77.1.2): 56 data bytes
64 bytes from 10.77.1.2: icmp_seq=0 ttl=64 time=0.412 ms

--- 10.77.1.2 ping statistics ---
5 packets transmitted, 5 packets received, 0.0% packet loss
round-trip min/avg/max/stddev = 0.401/0.437/0.512/0.031 ms
"""
LINUX_PING = """5 packets transmitted, 4 received, 20% packet loss, time 812ms
rtt min/avg/max/mdev = 0.021/0.034/0.050/0.010 ms
"""
LOST_PING = """--- 10.77.1.2 ping statistics ---
5 packets transmitted, 0 packets received, 100.0% packet loss
"""


def test_the_mean_round_trip_of_both_systems() -> None:
    assert parse_ping(MAC_PING) == {"rtt_ms": 0.437, "sent": 5, "received": 5, "error": None}
    assert parse_ping(LINUX_PING) == {"rtt_ms": 0.034, "sent": 5, "received": 4, "error": None}


def test_an_unanswered_ping_has_no_round_trip() -> None:
    assert parse_ping(LOST_PING)["error"] == "ping: none of 5 packets was answered"
    assert parse_ping("ping: cannot resolve mac9: Unknown host\n")["error"].endswith("mac9: Unknown host")


def recorded(command: str) -> list[Path]:
    folder = Path(FIXTURES or "") / "net" / command
    return sorted(folder.glob("*.out")) if FIXTURES and folder.is_dir() else []


@pytest.mark.skipif(not FIXTURES, reason="ESPALIER_FIXTURES does not name a folder of recorded output")
def test_every_recorded_output_is_understood() -> None:
    wrong = []
    for path in recorded("iperf3-json"):
        text = path.read_text()
        if not text.lstrip().startswith("{"):
            continue
        result = parse_iperf(text)
        if ("error" in json.loads(text)) != (result["error"] is not None):
            wrong.append(f"{path}: {result}")
    for path in recorded("ping"):
        result = parse_ping(path.read_text())
        if ("round-trip" in path.read_text()) != (result["error"] is None):
            wrong.append(f"{path}: {result}")
    assert wrong == []
    assert recorded("iperf3-json") and recorded("ping")
