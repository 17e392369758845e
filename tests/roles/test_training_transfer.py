"""Which wheels are copied to a node, and which are removed there."""

from espalier.wheel_transfer import transfer_plan

WHEELS = [{"file": "torch-2.whl", "sha256": "t2"}, {"file": "numpy-1.whl", "sha256": "n1"}]
PACKAGE = {"file": "espalier-0.whl", "sha256": "e0"}


def plan(*present: tuple[str, str]) -> dict[str, list[object]]:
    files = [{"path": f"/opt/espalier/wheels/{name}", "checksum": checksum} for name, checksum in present]
    return transfer_plan(files, WHEELS, PACKAGE, "/wh", "/pk")


def test_a_bare_node_gets_everything() -> None:
    assert plan()["copy"] == [
        {"folder": "/wh", "file": "torch-2.whl"},
        {"folder": "/wh", "file": "numpy-1.whl"},
        {"folder": "/pk", "file": "espalier-0.whl"},
    ]


def test_only_what_differs_is_copied_and_only_what_is_unknown_removed() -> None:
    result = plan(
        ("torch-2.whl", "t2"), ("numpy-1.whl", "cut off"), ("espalier-0.whl", "e0"), ("torch-1.whl", "t1")
    )
    assert result == {
        "copy": [{"folder": "/wh", "file": "numpy-1.whl"}],
        "remove": ["/opt/espalier/wheels/torch-1.whl"],
    }


def test_a_complete_node_gets_nothing() -> None:
    result = plan(("torch-2.whl", "t2"), ("numpy-1.whl", "n1"), ("espalier-0.whl", "e0"))
    assert result == {"copy": [], "remove": []}
