"""Homebrew: what it installs, and what it refuses."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def cellar(mac):
    mac.paths.homebrew.mkdir(parents=True)
    mac.paths.linux_tools.mkdir(parents=True)
    for program in ("babeld", "iperf3"):
        (mac.paths.linux_tools / program).write_text("#!/bin/sh\n")
    return mac


def test_root_is_refused_except_for_harmless_questions(cellar):
    refused = cellar.type("brew", "list")
    assert (refused.status, refused.out) == (1, "")
    assert refused.err.startswith("Error: Running Homebrew as root is extremely dangerous")
    assert cellar.type("brew", "--prefix").out == f"{cellar.paths.homebrew}\n"


def test_install_links_the_program_and_a_second_install_changes_nothing(cellar):
    assert cellar.type("brew", "list", "--versions", "babeld", uid=501).status == 1
    assert cellar.type("brew", "install", "babeld", "iperf3", uid=501).status == 0
    assert (cellar.paths.homebrew / "sbin/babeld").resolve() == cellar.paths.linux_tools / "babeld"
    assert (cellar.paths.homebrew / "bin/iperf3").resolve() == cellar.paths.linux_tools / "iperf3"
    again = cellar.type("brew", "install", "babeld", uid=501)
    assert (again.status, again.out) == (0, "")
    assert "already installed" in again.err
    assert cellar.type("brew", "list", "--versions", uid=501).out.splitlines()[0] == "babeld 1.13.1"


def test_an_unknown_formula_is_named(cellar):
    result = cellar.type("brew", "install", "nonesuch", uid=501)
    assert result.status == 1
    assert "Error: No formulae or casks found for nonesuch.\n" in result.err


def test_info_as_json_tells_installed_from_not(cellar):
    def installed():
        return json.loads(cellar.type("brew", "info", "--json=v2", "babeld", uid=501).out)["formulae"][0]["installed"]

    assert installed() == []
    cellar.type("brew", "install", "babeld", uid=501)
    assert installed()[0]["version"] == "1.13.1"
    cellar.type("brew", "uninstall", "babeld", uid=501)
    assert installed() == []
    assert not (cellar.paths.homebrew / "sbin/babeld").exists()


@pytest.mark.parametrize(
    "argv", [("frobnicate",), ("install", "--nonsense", "babeld"), ("services", "start", "babeld")]
)
def test_what_is_not_simulated_is_an_error(cellar, argv):
    assert cellar.type("brew", *argv, uid=501).status == 1
