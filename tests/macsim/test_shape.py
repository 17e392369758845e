"""What the simulator prints has the shape of what real Macs print.

Each line is reduced to its shape (numbers, addresses, names and identifiers become one letter), and every shape
that the simulator prints must be among those of the recorded cases. The cases are those of the folder that
ESPALIER_FIXTURES names, or the few beside this file, which are written in the same shape with invented values.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

CASES = Path(os.environ.get("ESPALIER_FIXTURES", "") or Path(__file__).parent / "fixtures")

# Applied in order; what is more special comes first.
_REDUCE = (
    (r"[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}", "U"),
    (r"\b([0-9a-fA-F]{1,2}:){5}[0-9a-fA-F]{1,2}\b", "M"),
    (r"\b(AA:){5}AA\b", "M"),
    (r"inet6 \S+", "inet6 I"),
    (r"\b\d+\.\d+\.\d+\.\d+\b", "I"),
    (r"flags=[0-9a-f]+<[^>]*>", "flags=F"),
    (r"options=[0-9a-f]+<[^>]*>", "options=F"),
    (r"\b0x[0-9a-fA-F]+", "H"),
    (r'"[^"]*"', "Q"),
    (r"\b(en|bridge|lo|utun|ap|awdl|llw|anpi|gif|stf)\d+\b", "D"),
    (r"\d+(\.\d+)?", "N"),
    (r"[ \t]+$", ""),
    (r"(?<=\S) {2,}", "  "),
)


def shape(line: str) -> str:
    """Return the shape of a line; after "key: " or "key = " only the key counts."""
    line = re.sub(r"^(\s*(?!options|flags)[\w ()/.-]+?(:| =>?)) (?!\{).*$", r"\1 V", line)
    for pattern, letter in _REDUCE:
        line = re.sub(pattern, letter, line)
    return line.replace("\t", "    ")


def recorded(command: str, case: str = "*") -> list[str]:
    paths = sorted((CASES / command).glob(f"{case}.out"))
    assert paths, f"{CASES / command} has no case, so nothing is compared"
    return [path.read_text() for path in paths]


def shapes(texts: list[str]) -> set[str]:
    return {shape(line) for text in texts for line in text.splitlines()}


def unknown(text: str, command: str, *, also: set[str] = frozenset()) -> set[str]:
    """Return the shapes that no recorded case has."""
    return {shape(line) for line in text.splitlines()} - shapes(recorded(command)) - {""} - set(also)


@pytest.mark.parametrize(
    ("command", "argv"),
    [
        ("net/networksetup-listallhardwareports", ("networksetup", "-listallhardwareports")),
        ("net/networksetup-getMTU", ("networksetup", "-getMTU", "en0")),
        ("net/networksetup-listvalidMTUrange", ("networksetup", "-listvalidMTUrange", "Wi-Fi")),
        ("net/route-get", ("route", "-n", "get", "default")),
        ("net/route-add", ("route", "-n", "add", "-net", "10.77.9.0/24", "10.231.5.9")),
        ("net/arp", ("arp", "-an")),
        ("sys/vm_stat", ("vm_stat",)),
    ],
)
def test_every_line_has_a_recorded_shape(mac, command, argv):
    result = mac.type(*argv)
    assert result.status == 0
    assert unknown(result.out, command) == set()


def test_hardware_ports_begin_with_an_empty_line_and_end_with_the_vlans(mac):
    lines = mac.type("networksetup", "-listallhardwareports").out.splitlines()
    assert lines[0] == ""
    assert any(text.splitlines()[0] == "" for text in recorded("net/networksetup-listallhardwareports"))
    assert lines[-3:] == ["VLAN Configurations", "===================", ""]


def test_services_are_listed_below_the_recorded_notice(mac):
    for verb in ("listallnetworkservices", "listnetworkserviceorder"):
        notices = {text.splitlines()[0] for text in recorded(f"net/networksetup-{verb}")}
        assert mac.type("networksetup", f"-{verb}").out.splitlines()[0] in notices


def test_the_order_of_services_has_pairs_of_lines(mac):
    pair = re.compile(r"\((?:\d+|\*)\) .+\n\(Hardware Port: [^\n]+, Device: \w*\)\n")
    assert pair.search(recorded("net/networksetup-listnetworkserviceorder")[0])
    out = mac.type("networksetup", "-listnetworkserviceorder").out
    assert len(pair.findall(out)) == 3


def test_ifconfig_lines_have_a_recorded_shape(mac):
    mac.type("ifconfig", "lo0", "alias", "10.77.0.1/32")
    assert unknown(mac.type("ifconfig", "-a").out, "net/ifconfig-a") == set()


def test_the_routing_table_has_the_recorded_columns(mac):
    mine = mac.type("netstat", "-rn", "-f", "inet").out.splitlines()
    theirs = next(text for text in recorded("net/netstat-rn-inet") if "Routing tables" in text).splitlines()
    assert mine[:4] == theirs[:4]
    columns = [len(line) for line in theirs[4:] if line.startswith("default")]
    assert len(next(line for line in mine if line.startswith("default"))) in columns


def keys(value: Any, place: str = "") -> set[str]:
    """Return every path of keys in a JSON value, without the numbers of lists."""
    if isinstance(value, dict):
        return {item for key, inner in value.items() for item in {f"{place}/{key}", *keys(inner, f"{place}/{key}")}}
    if isinstance(value, list):
        return {item for inner in value for item in keys(inner, place)}
    return set()


def test_thunderbolt_json_has_the_recorded_keys_and_layout(mac):
    out = mac.type("system_profiler", "SPThunderboltDataType", "-json").out
    texts = recorded("net/system_profiler-SPThunderboltDataType-json")
    known = set().union(*(keys(json.loads(text)) for text in texts))
    assert keys(json.loads(out)) <= known
    assert any(text.splitlines()[:3] == out.splitlines()[:3] for text in texts)


def test_thunderbolt_text_has_the_recorded_lines(mac):
    out = mac.type("system_profiler", "SPThunderboltDataType").out
    known = {
        line.split(":")[0].strip()
        for text in recorded("net/system_profiler-SPThunderboltDataType-text")
        for line in text.splitlines()
    }
    mine = {re.sub(r"Bus \d", "Bus 0", line.split(":")[0].strip()) for line in out.splitlines()}
    assert mine <= known | {"Mac mini"}


def test_launchctl_print_has_the_recorded_lines(mac, system, write_job):
    mac.type(
        "launchctl",
        "bootstrap",
        "system",
        str(
            write_job(
                KeepAlive={"SuccessfulExit": False},
                WorkingDirectory="/tmp",
                StandardOutPath="/tmp/a",
                StandardErrorPath="/tmp/b",
            )
        ),
    )
    lines = mac.type("launchctl", "print", "system/dev.espalier.probe").out.splitlines()
    known = {re.split(r" =", line)[0].strip() for text in recorded("sys/launchctl-print") for line in text.splitlines()}
    mine = {line.split(" =")[0].strip() for line in lines[1:]} - {"/bin/sleep", "1000"}
    assert mine <= known


def test_launchctl_limit_disabled_and_list_have_the_recorded_spacing(mac, system, write_job):
    assert any(
        mac.type("launchctl", "limit", "maxfiles").out.strip() == text.strip()
        for text in recorded("sys/launchctl-limit")
    )
    mac.type("launchctl", "disable", "system/dev.espalier.probe")
    mac.type("launchctl", "enable", "system/dev.espalier.other")
    assert unknown(mac.type("launchctl", "print-disabled", "system").out, "sys/launchctl-print-disabled") == set()
    mac.type("launchctl", "bootstrap", "system", str(write_job("dev.espalier.third", RunAtLoad=True)))
    first = mac.type("launchctl", "list").out.splitlines()
    assert first[0] in {text.splitlines()[0] for text in recorded("sys/launchctl-list")}
    assert re.fullmatch(r"\d+\t0\tdev\.espalier\.third", first[1])
