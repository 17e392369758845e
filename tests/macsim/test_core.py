"""The call log, strict options, and the rule that a file is a command."""

from __future__ import annotations

from pathlib import Path

import pytest
from macsim.core import registry, state
from macsim.core.errors import ExitError
from macsim.core.node import load_node
from macsim.core.options import getopt


def test_every_call_is_logged_with_its_status_also_a_failing_one(mac):
    mac.type("sw_vers", "-productVersion", uid=501)
    mac.type("sw_vers", "--nonsense")
    first, second = mac.calls()
    assert (first["command"], first["argv"], first["uid"], first["exit_status"]) == (
        "sw_vers",
        ["-productVersion"],
        501,
        0,
    )
    assert second["exit_status"] == 1
    assert second["time"] >= first["time"] > 0


def test_every_file_in_commands_declares_a_command_with_an_absolute_path():
    for module in registry.module_names():
        command = registry.find(module)
        assert command.paths, module
        assert all(path.startswith("/") and Path(path).name == command.name for path in command.paths), module


def test_two_commands_do_not_claim_one_path():
    paths = [path for module in registry.module_names() for path in registry.find(module).paths]
    assert len(paths) == len(set(paths))


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["-z"], "tool: illegal option -- z\nusage\n"),
        (["-nz"], "tool: illegal option -- z\nusage\n"),
        (["-c"], "tool: option requires an argument -- c\nusage\n"),
    ],
)
def test_a_wrong_option_ends_with_the_words_of_a_mac(argv, message):
    with pytest.raises(ExitError) as caught:
        getopt("tool", argv, "nc:", "usage\n")
    assert (caught.value.status, caught.value.err, caught.value.out) == (64, message, "")


def test_options_stop_at_the_first_operand():
    assert getopt("tool", ["-n", "-c3", "host", "-z"], "nc:", "") == ([("n", ""), ("c", "3")], ["host", "-z"])


def test_state_that_is_not_json_is_named(tmp_path):
    path = tmp_path / "network.json"
    path.write_text("{")
    with pytest.raises(ValueError, match=r"network\.json is not JSON"):
        state.load(path, {})


def test_a_node_without_its_ports_is_refused_by_name(mac):
    mac.paths.node_config.write_text('{"model": "Mac16,11", "hostname": "mac1"}')
    with pytest.raises(ValueError, match=r"node\.json: KeyError\('thunderbolt_ports'\)"):
        load_node(mac.paths.node_config)
