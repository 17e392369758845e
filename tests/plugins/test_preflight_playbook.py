"""What a person sees who runs the preflight with an inventory that is wrong, or a machine that is away."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
RING = [
    {"a": "mac1", "a_port": 1, "b": "mac2", "b_port": 1},
    {"a": "mac2", "a_port": 2, "b": "mac3", "b_port": 2},
    {"a": "mac3", "a_port": 1, "b": "mac1", "b_port": 2},
]


def write_inventory(folder: Path, macs: dict[str, dict[str, Any]], shared: dict[str, Any]) -> None:
    """An inventory in ``folder/inventory``; a connection would leave the mark ``folder/contacted``."""
    mark = folder / "contacted"
    ssh = folder / "ssh"
    ssh.write_text(f"#!/bin/sh\ntouch {mark}\nexit 255\n", encoding="utf-8")
    ssh.chmod(0o755)
    hosts = {"rack": {"children": {"macs": {"hosts": macs}, "heads": {"hosts": {}}}}}
    inventory = folder / "inventory"
    (inventory / "group_vars").mkdir(parents=True)
    (inventory / "hosts.yml").write_text(yaml.safe_dump(hosts), encoding="utf-8")
    values = {"ansible_ssh_executable": str(ssh), "ansible_ssh_retries": 0, **shared}
    (inventory / "group_vars" / "all.yml").write_text(yaml.safe_dump(values, sort_keys=False), encoding="utf-8")


def three_macs() -> dict[str, dict[str, Any]]:
    return {f"mac{number}": {"ansible_host": f"192.0.2.{number}", "espalier_model": "Mac16,11"} for number in (1, 2, 3)}


def preflight(inventory: Path, *arguments: str) -> tuple[int, str]:
    """Exit status, and what was printed with its lines joined."""
    ran = subprocess.run(
        [
            str(Path(sys.executable).parent / "ansible-playbook"),
            "-i",
            inventory,
            "playbooks/preflight.yml",
            *arguments,
        ],
        cwd=ROOT,
        env={**os.environ, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_LOCALHOST_WARNING": "0", "COLUMNS": "1000"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return ran.returncode, " ".join(ran.stdout.split())


def test_the_example_inventory_passes_the_check_of_the_inventory(tmp_path: Path) -> None:
    ssh = tmp_path / "ssh"
    ssh.write_text("#!/bin/sh\nexit 255\n", encoding="utf-8")
    ssh.chmod(0o755)
    code, said = preflight(ROOT / "inventory" / "example", "-e", f"ansible_ssh_executable={ssh}")
    assert code == 2
    assert "The inventory is wrong" not in said
    assert "mac1, mac2, mac3 and server1 cannot be reached. Nothing was changed on any machine." in said
    assert "--limit 'all:!mac1:!mac2:!mac3:!server1'" in said


def test_all_mistakes_at_once_with_file_and_line_and_nobody_is_contacted(tmp_path: Path) -> None:
    macs = three_macs()
    macs["mac2"]["ansible_host"] = "192.0.2.1"
    macs["mac3"]["espalier_model"] = "Mac99,9"
    shared = {
        "thunderbolt_cables": [*RING[:2], {**RING[2], "b_port": 4}],
        "thunderbolt_rnage": "10.78.0.0/16",
    }
    write_inventory(tmp_path, macs, shared)
    code, said = preflight(tmp_path / "inventory")
    assert code == 2
    assert "nothing was contacted or changed" in said
    assert "same address as mac1: 192.0.2.1" in said
    assert f"{tmp_path}/inventory/group_vars/all.yml:12: thunderbolt_cables, cable 3" in said
    assert "mac1 (Mac16,11) has 3 Thunderbolt ports, and no port 4" in said
    assert "Did you mean thunderbolt_range?" in said
    assert "Mac99,9" in said
    assert not (tmp_path / "contacted").exists()


@pytest.mark.parametrize("limit", [(), ("--limit", "mac1")])
def test_a_limit_does_not_skip_the_check(tmp_path: Path, limit: tuple[str, ...]) -> None:
    write_inventory(tmp_path, three_macs(), {"thunderbolt_cables": RING[:1]})
    code, said = preflight(tmp_path / "inventory", *limit)
    assert code == 2
    assert "host mac3: no cable of thunderbolt_cables goes to it" in said
    assert not (tmp_path / "contacted").exists()


def test_no_nodes(tmp_path: Path) -> None:
    write_inventory(tmp_path, {}, {})
    code, said = preflight(tmp_path / "inventory")
    assert code == 2
    assert "the inventory has no nodes" in said


@pytest.mark.parametrize("file", ["hosts.yml", "group_vars/all.yml", "group_vars/macs.yml", "host_vars/mac2.yml"])
def test_a_file_that_does_not_parse_is_named(tmp_path: Path, file: str) -> None:
    write_inventory(tmp_path, three_macs(), {"thunderbolt_cables": RING})
    (tmp_path / "inventory" / file).parent.mkdir(exist_ok=True)
    (tmp_path / "inventory" / file).write_text("mac1: {\n  a: ]\n", encoding="utf-8")
    code, said = preflight(tmp_path / "inventory")
    assert code != 0
    assert f"{tmp_path}/inventory/{file}:2" in said
    assert not (tmp_path / "contacted").exists()


def test_a_variable_that_refers_to_nothing(tmp_path: Path) -> None:
    macs = three_macs()
    macs["mac2"]["ansible_host"] = "{{ mac2_adress }}"
    write_inventory(tmp_path, macs, {"thunderbolt_cables": RING})
    code, said = preflight(tmp_path / "inventory")
    assert code == 2
    assert "host mac2: ansible_host has no value" in said
    assert "mac2_adress" in said
    assert not (tmp_path / "contacted").exists()


def test_one_machine_is_away_and_the_others_are_untouched(tmp_path: Path) -> None:
    local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    macs = three_macs()
    for name in ("mac1", "mac3"):
        macs[name].update(local)
    write_inventory(tmp_path, macs, {"thunderbolt_cables": RING})
    code, said = preflight(tmp_path / "inventory")
    assert code == 2
    assert "mac2 cannot be reached. Nothing was changed on any machine." in said
    assert "mac2 (ansible_host 192.0.2.2)" in said
    assert "Try to become root" not in said


def test_machines_are_asked_and_judged_together_also_in_check_mode(tmp_path: Path) -> None:
    local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    macs = {name: {**own, **local} for name, own in three_macs().items()}
    write_inventory(tmp_path, macs, {"thunderbolt_cables": RING, "espalier_max_clock_skew_s": 2})
    code, said = preflight(tmp_path / "inventory", "--check")
    assert code == 2  # these Macs are this machine, which is none
    assert "clock ok on 3 machines" in said
    for name in macs:
        assert f"host {name}: it runs" in said
    assert "changed=0" in said
    assert "changed=1" not in said


def test_a_machine_without_python(tmp_path: Path) -> None:
    macs = {name: {**own, "ansible_connection": "local"} for name, own in three_macs().items()}
    macs["mac3"]["ansible_python_interpreter"] = "/nowhere/python3"
    write_inventory(tmp_path, macs, {"thunderbolt_cables": RING})
    code, said = preflight(tmp_path / "inventory")
    assert code == 2
    assert "mac3: no Python that runs" in said
