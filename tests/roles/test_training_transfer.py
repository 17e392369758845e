"""Which wheels are copied to a node, and which are removed there."""

from espalier.wheel_transfer import transfer_plan

WHEELS = [{"file": "torch-2.whl", "sha256": "t2"}, {"file": "numpy-1.whl", "sha256": "n1"}]
PACKAGE = {"file": "espalier-0.whl", "sha256": "e0"}


def plan(*present: tuple[str, str], wheels: list[dict[str, str]] = WHEELS) -> dict[str, object]:
    files = [{"path": f"/opt/espalier/wheels/{name}", "checksum": checksum} for name, checksum in present]
    return transfer_plan(files, wheels, PACKAGE, "/wh", "/pk")


def test_a_bare_node_gets_everything() -> None:
    assert plan()["send"] == [
        {"folder": "/wh", "file": "torch-2.whl"},
        {"folder": "/wh", "file": "numpy-1.whl"},
        {"folder": "/pk", "file": "espalier-0.whl"},
    ]


def test_only_what_differs_is_copied_and_only_what_is_unknown_removed() -> None:
    result = plan(("torch-2.whl", "t2"), ("numpy-1.whl", "cut off"), ("espalier-0.whl", "e0"), ("torch-1.whl", "t1"))
    assert result == {
        "bundle": False,
        "send": [{"folder": "/wh", "file": "numpy-1.whl"}],
        "drop": ["/opt/espalier/wheels/torch-1.whl"],
    }


def test_a_complete_node_gets_nothing() -> None:
    result = plan(("torch-2.whl", "t2"), ("numpy-1.whl", "n1"), ("espalier-0.whl", "e0"))
    assert result == {"bundle": False, "send": [], "drop": []}


def test_many_missing_wheels_come_in_one_archive_and_the_package_beside_it() -> None:
    many = [{"file": f"w{number}.whl", "sha256": str(number)} for number in range(9)]
    result = plan(("w1.whl", "1"), wheels=many)
    assert result == {"bundle": True, "send": [{"folder": "/pk", "file": "espalier-0.whl"}], "drop": []}
