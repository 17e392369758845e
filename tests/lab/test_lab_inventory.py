"""The inventory of the rack in a box, read by Ansible itself."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import lab_plan
import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder that looks like the repository to the inventory script, with a lab named `unit` in it."""
    shutil.copytree(ROOT / "inventory" / "lab", tmp_path / "inventory" / "lab")
    folder = tmp_path / "build" / "lab" / "unit"
    folder.mkdir(parents=True)
    plan = lab_plan.make_plan("unit", 3, "ring").as_dict()
    (folder / "lab.json").write_text(json.dumps({**plan, "ssh_key": "/k/ssh_key", "ssh_config": "/k/ssh_config"}))
    return tmp_path


def listed(checkout: Path, lab: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(Path(sys.executable).parent / "ansible-inventory"), "-i", "inventory/lab", "--list"],
        cwd=checkout,
        env={**os.environ, "ESPALIER_LAB": lab, "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "true"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_ansible_finds_the_groups_addresses_and_cables(checkout: Path) -> None:
    answer = listed(checkout, "unit")
    assert answer.returncode == 0, answer.stderr
    inventory = json.loads(answer.stdout)
    assert inventory["macs"]["hosts"] == ["mac1", "mac2", "mac3"]
    assert inventory["heads"]["hosts"] == ["head"]
    mac2 = inventory["_meta"]["hostvars"]["mac2"]
    assert mac2["ansible_host"].endswith(".12")
    assert (mac2["espalier_model"], mac2["thunderbolt_node_id"], mac2["ansible_user"]) == ("Mac16,11", 2, "admin")
    assert len(mac2["thunderbolt_cables"]) == 3
    assert "espalier_model" not in inventory["_meta"]["hostvars"]["head"]


def test_without_a_lab_the_message_says_how_to_make_one(checkout: Path) -> None:
    answer = listed(checkout, "other")
    assert answer.returncode != 0
    assert "make lab" in answer.stderr


def test_a_damaged_file_is_named(checkout: Path) -> None:
    path = checkout / "build" / "lab" / "unit" / "lab.json"
    path.write_text(path.read_text()[:40])
    answer = listed(checkout, "unit")
    assert answer.returncode != 0
    assert "lab.json: cannot be read" in answer.stderr.replace("\n", " ")
