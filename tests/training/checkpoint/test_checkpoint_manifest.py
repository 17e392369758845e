import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.checkpoint.manifest import FileEntry, Manifest, ManifestError, check_name, decode

MANIFEST = Manifest(
    step=1200,
    save_id="00ff",
    world_size=2,
    tensors={"0.weight": "float32[2, 3]"},
    optimizers=("AdamW",),
    fingerprint="f" * 64,
    torch="2.13.0",
    created_at="2026-01-01T00:00:00+00:00",
    files={"model/__0_0.distcp": FileEntry(10, "a" * 64), "rank-00000.pt": FileEntry(5, "0" * 64)},
)


def changed(**values):
    return json.dumps({**json.loads(MANIFEST.encode()), **values}).encode()


def test_what_is_written_is_read():
    assert decode(MANIFEST.encode()) == MANIFEST
    assert MANIFEST.size == 15


@pytest.mark.parametrize("step", [0, 10**18, 2**63])
def test_steps_of_any_size_are_kept(step):
    assert decode(replace(MANIFEST, step=step).encode()).step == step


HOSTILE = ["", "/etc/passwd", "../x", "model/../../x", "a//b", "./a", ".", "a/", "a\\b", "a\nb", "a\0b", "a/./b"]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_that_lead_out_of_the_checkpoint_are_refused(name):
    with pytest.raises(ManifestError, match="not a plain path"):
        decode(changed(files={name: {"size": 1, "sha256": "a" * 64}}))


@given(st.text())
def test_an_accepted_name_stays_inside(name):
    try:
        check_name(name)
    except ManifestError:
        return
    parts = name.split("/")
    assert parts
    assert not set(parts) & {"", ".", ".."}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"format": 2}, "format is 2, and this version of Espalier reads format 1"),
        ({"step": -1}, "step is -1"),
        ({"step": True}, "step is True"),
        ({"step": "7"}, "step is '7'"),
        ({"world_size": 0}, "world_size is 0"),
        ({"files": []}, "files is not an object"),
        ({"files": {"a": 3}}, "files.a is not an object"),
        ({"files": {"a": {"size": -1, "sha256": "a" * 64}}}, "files.a.size is -1"),
        ({"files": {"a": {"size": 1, "sha256": "A" * 64}}}, "no SHA-256"),
        ({"files": {"a": {"size": 1}}}, "files.a.sha256 is None"),
        ({"tensors": [1]}, "wrong type"),
        ({"optimizers": None}, "wrong type"),
    ],
)
def test_a_wrong_value_is_named(change, reason):
    with pytest.raises(ManifestError, match=reason.replace("[", r"\[")):
        decode(changed(**change))


def test_a_missing_key_is_named():
    values = json.loads(MANIFEST.encode())
    del values["save_id"]
    with pytest.raises(ManifestError, match="no key 'save_id'"):
        decode(json.dumps(values).encode())


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"null", b"[1]", b"[" * 100_000])
def test_what_is_no_manifest_is_refused(content):
    with pytest.raises(ManifestError):
        decode(content)
