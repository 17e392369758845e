"""What the system says about itself."""

from __future__ import annotations

import json

import pytest
from macsim.core.models import MODELS


def test_sw_vers_prints_three_lines_or_one_value(mac):
    assert mac.type("sw_vers").out.splitlines()[1] == "ProductVersion:\t\t26.1"
    assert mac.type("sw_vers", "-productVersion").out == "26.1\n"
    assert mac.type("sw_vers", "--buildVersion").out == "25B78\n"
    assert mac.type("sw_vers", "-version").status == 1


def test_uname_is_darwin_on_arm64(mac):
    assert mac.type("uname").out == "Darwin\n"
    assert mac.type("uname", "-sm").out == "Darwin arm64\n"
    assert mac.type("uname", "-p").out == "arm\n"
    assert mac.type("uname", "-a").out.endswith(" arm64\n")
    wrong = mac.type("uname", "--all")
    assert (wrong.status, wrong.err.splitlines()[0]) == (1, "uname: illegal option -- -")


def test_sysctl_reads_names_and_prefixes(mac):
    assert mac.type("sysctl", "-n", "hw.model").out == "Mac16,11\n"
    assert mac.type("sysctl", "hw.memsize").out == f"hw.memsize: {64 * 1024**3}\n"
    listed = mac.type("sysctl", "hw").out
    assert "hw.perflevel0.name: Performance\n" in listed
    assert "hw.model" not in listed  # a Mac lists it only by its full name


def test_sysctl_of_an_unknown_name_goes_to_standard_error(mac):
    result = mac.type("sysctl", "net.inet.ip.fw.enable")
    assert (result.status, result.out, result.err) == (1, "", "sysctl: unknown oid 'net.inet.ip.fw.enable'\n")
    assert mac.type("sysctl", "-i", "net.inet.ip.fw.enable").status == 0


def test_sysctl_write_prints_old_and_new_and_is_lost_at_a_restart(mac):
    assert mac.type("sysctl", "iogpu.wired_limit_mb=14000").out == "iogpu.wired_limit_mb: 0 -> 14000\n"
    assert mac.type("sysctl", "-n", "iogpu.wired_limit_mb").out == "14000\n"
    mac.restart()
    assert mac.type("sysctl", "-n", "iogpu.wired_limit_mb").out == "0\n"


def test_sysctl_write_needs_root_and_a_name_that_can_be_written(mac):
    refused = mac.type("sysctl", "kern.maxfiles=1", uid=501)
    assert (refused.status, refused.err) == (1, "sysctl: kern.maxfiles=1: Operation not permitted\n")
    assert mac.type("sysctl", "hw.model=x").err == "sysctl: oid 'hw.model' is read only\n"


def test_forwarding_switches_the_knob_of_linux(mac):
    knob = mac.paths.at("/proc/sys/net/ipv4/ip_forward")
    knob.parent.mkdir(parents=True)
    knob.write_text("0\n")
    assert mac.type("sysctl", "-w", "net.inet.ip.forwarding=1").out == "net.inet.ip.forwarding: 0 -> 1\n"
    assert knob.read_text() == "1"


def test_hardware_as_text_and_json_name_the_model(mac):
    text = mac.type("system_profiler", "SPHardwareDataType").out
    assert "      Model Identifier: Mac16,11\n" in text
    assert "      Chip: Apple M4 Pro\n" in text
    data = json.loads(mac.type("system_profiler", "SPHardwareDataType", "-json").out)
    assert data["SPHardwareDataType"][0]["machine_model"] == "Mac16,11"
    assert data["SPHardwareDataType"][0]["number_processors"] == "proc 14:10:4"


def test_a_model_that_is_not_known_keeps_its_name(mac):
    mac.write_node({"model": "Mac99,1", "hostname": "mac1", "thunderbolt_ports": []})
    assert "Mac99,1" not in MODELS
    assert mac.type("sysctl", "-n", "hw.model").out == "Mac99,1\n"


def test_vm_stat_counts_in_pages_of_16_kib(mac):
    lines = mac.type("vm_stat").out.splitlines()
    assert lines[0] == "Mach Virtual Memory Statistics: (page size of 16384 bytes)"
    assert lines[1] == "Pages free:".ljust(36) + "3145728.".rjust(12)
    assert len(lines) == 23


@pytest.mark.parametrize(("verb", "status"), [(["status"], 0), (["disable"], 1), (["nonsense"], 64), ([], 64)])
def test_csrutil_tells_and_changes_nothing(mac, verb, status):
    assert mac.type("csrutil", *verb).status == status


def test_systemsetup_without_root_prints_a_refusal_and_exits_0(mac):
    result = mac.type("systemsetup", "-getusingnetworktime", uid=501)
    assert (result.status, result.out) == (0, "You need administrator access to run this tool... exiting!\n")


def test_systemsetup_keeps_a_value_over_a_restart(mac):
    assert mac.type("systemsetup", "-setcomputersleep", "Never").status == 0
    mac.restart()
    assert mac.type("systemsetup", "-getcomputersleep").out == "Computer Sleep: Never\n"
    assert mac.type("systemsetup", "-setremotelogin", "off").status == 1
    assert mac.type("systemsetup", "-getnonsense").status == 1


def test_scutil_host_name_is_not_set_on_a_new_mac(mac):
    result = mac.type("scutil", "--get", "HostName")
    assert (result.status, result.out, result.err) == (1, "", "HostName: not set\n")
    assert mac.type("scutil", "--get", "LocalHostName").out == "mac1\n"
    assert mac.type("scutil", "--set", "ComputerName", "Shelf", uid=501).status == 1
    mac.type("scutil", "--set", "ComputerName", "Shelf")
    assert mac.type("scutil", "--get", "ComputerName").out == "Shelf\n"


def test_sntp_prints_the_offset_and_sets_the_clock_only_for_root(mac):
    (mac.paths.kept / "clock.json").write_text('{"offset_s": -2.5}')
    assert mac.type("sntp", "127.0.0.1").out == "-2.500000 +/- 0.000117 127.0.0.1 127.0.0.1\n"
    assert mac.type("sntp", "-sS", "127.0.0.1", uid=501).status == 1
    mac.type("sntp", "-sS", "127.0.0.1")
    assert mac.type("sntp", "127.0.0.1").out.startswith("+0.000000 ")


def test_groups_answer_as_directory_services_do(mac):
    assert (
        mac.type("dseditgroup", "-o", "checkmember", "-m", "admin", "staff").out == "yes admin is a member of staff\n"
    )
    no = mac.type("dseditgroup", "-o", "checkmember", "-m", "root", "admin")
    assert (no.status, no.out) == (67, "no root is NOT a member of admin\n")
    assert mac.type("dseditgroup", "-o", "create", "-i", "600", "espalier").status == 0
    assert "espalier:x:600:\n" in (mac.paths.etc / "group").read_text()
    assert mac.type("dseditgroup", "-o", "create", "other", uid=501).status == 77


def test_dscl_reads_users_and_finds_a_user_s_groups(mac):
    assert mac.type("dscl", ".", "-read", "/Users/admin", "UniqueID").out == "UniqueID: 501\n"
    assert mac.type("dscl", ".", "-read", "/Users/nobody-here").status == 56
    found = mac.type("dscl", ".", "-search", "/Groups", "GroupMembership", "admin").out
    assert [line.split()[0] for line in found.splitlines() if line[:1].isalpha()] == ["admin", "staff"]


def test_xcode_select_and_plutil(mac, tmp_path):
    assert mac.type("xcode-select", "-p").out == "/Library/Developer/CommandLineTools\n"
    good, bad = tmp_path / "good.plist", tmp_path / "bad.plist"
    good.write_text('<?xml version="1.0"?><plist version="1.0"><dict><key>Label</key><string>x</string></dict></plist>')
    bad.write_text('<?xml version="1.0"?><plist version="1.0"><dict><key>Label</dict></plist>')
    assert mac.type("plutil", "-lint", str(good)).out == f"{good}: OK\n"
    wrong = mac.type("plutil", "-lint", str(good), str(bad))
    assert wrong.status == 1
    assert wrong.out.splitlines()[1].startswith(f"{bad}: ")
    assert mac.type("plutil", "-convert", "json", str(good)).status == 1


def test_defaults_keeps_typed_values_and_names_what_is_missing(mac):
    domain = "/Library/Preferences/com.apple.SoftwareUpdate"
    missing = mac.type("defaults", "read", domain, "AutomaticallyInstallMacOSUpdates")
    assert missing.status == 1
    stamp, message = missing.err.splitlines()
    assert " defaults[" in stamp
    assert message == f"The domain/default pair of ({domain}, AutomaticallyInstallMacOSUpdates) does not exist"
    assert mac.type("defaults", "write", domain, "AutomaticallyInstallMacOSUpdates", "-bool", "false").status == 0
    assert mac.type("defaults", "read", domain, "AutomaticallyInstallMacOSUpdates").out == "0\n"
    assert mac.type("defaults", "write", domain, "Names", "-array", "a b", "c").status == 0
    assert mac.type("defaults", "read", domain, "Names").out == '(\n    "a b",\n    c\n)\n'
    assert mac.type("defaults", "write", domain, "Count", "-int", "many").status == 255
    assert mac.type("defaults", "delete", domain, "Names").status == 0
    assert mac.type("defaults", "read", domain, "Names").status == 1
