"""rack.json and environment.json, from what the inventory and the facts say."""

from espalier.rack_report import chip_of, environment_content, rack_content

GROUPS = {"rack": ["head", "mac1"], "macs": ["mac1"]}
HOSTVARS = {
    "head": {},
    "mac1": {
        "espalier_model": "Mac16,11",
        "ansible_facts": {
            "processor": "Apple M4 Pro",
            "distribution": "MacOSX",
            "distribution_version": "15.5",
            "architecture": "arm64",
        },
    },
}
PLAN = {
    "nodes": {"mac1": {"address": "10.77.0.1"}},
    "cables": [{"a": "mac1", "a_port": 1, "a_address": "10.77.1.5", "b": "head", "b_port": 2}],
}


def test_every_machine_is_there_and_only_the_ends_of_cables() -> None:
    assert rack_content(GROUPS, HOSTVARS, PLAN) == {
        "nodes": [
            {"name": "head", "role": "head", "model": None, "chip": None, "fabric_address": None},
            {
                "name": "mac1",
                "role": "mac",
                "model": "Mac16,11",
                "chip": "Apple M4 Pro",
                "fabric_address": "10.77.0.1",
            },
        ],
        "cables": [{"a": "mac1", "a_port": 1, "b": "head", "b_port": 2}],
    }


def test_a_rack_without_cables_has_none() -> None:
    assert rack_content(GROUPS, HOSTVARS, {})["cables"] == []


def test_the_chip_of_linux_is_the_name_and_not_the_number() -> None:
    assert chip_of({"processor": ["0", "AuthenticAMD", "AMD EPYC"]}) == "AMD EPYC"
    assert chip_of({"processor": []}) is None


def test_versions_come_from_the_first_run_that_was_measured() -> None:
    run = {"environment": {"torch": "2.13.0", "command": "espalier train digits", "release": "25.5.0"}}
    content = environment_content([{"error": "x"}, run, run], GROUPS, HOSTVARS, "2.19.14", None)
    assert content["torch"] == "2.13.0"
    assert content["systems"] == {"mac1": "MacOSX 15.5 arm64"}
    assert content["commands"].count("espalier train digits") == 1
    assert "shared_cores" not in content and "command" not in content


def test_without_any_run_there_is_still_an_environment() -> None:
    content = environment_content([], GROUPS, HOSTVARS, "2.19.14", 2)
    assert content["ansible"] == "2.19.14" and content["shared_cores"] == 2
