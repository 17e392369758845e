"""The installer, below a temporary root."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import macsim
import pytest
from macsim.core.paths import Paths
from macsim.setup import python
from macsim.setup.accounts import merged_groups, merged_users
from macsim_fakes import NODE

SOURCE = Path(macsim.__file__).parent


@pytest.fixture
def root(tmp_path):
    shutil.copytree(SOURCE, tmp_path / "opt/macsim", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/group").write_text("root:x:0:\ndialout:x:20:\nstaff:x:50:\n")
    (tmp_path / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
    (tmp_path / "usr/sbin").mkdir(parents=True)
    (tmp_path / "usr/sbin/sysctl").write_text("#!/bin/sh\necho linux\n")
    (tmp_path / "usr/sbin/babeld").write_text("#!/bin/sh\n")
    node = tmp_path / "var/db/macsim/node.json"
    node.parent.mkdir(parents=True)
    node.write_text(json.dumps(NODE))
    return tmp_path


def install(root, model="Mac16,11"):
    return subprocess.run(
        [
            sys.executable,
            root / "opt/macsim/install.py",
            "--root",
            root,
            "--model",
            model,
            "--node-config",
            root / "var/db/macsim/node.json",
            "--no-start",
        ],
        capture_output=True,
        text=True,
        check=False,
    )


def test_installing_twice_changes_nothing_the_second_time(root):
    first = install(root)
    assert first.returncode == 0, first.stderr
    assert f"moved {root}/usr/sbin/sysctl to {root}/opt/macsim/linux/sysctl" in first.stdout
    second = install(root)
    assert (second.returncode, second.stdout) == (0, "")
    assert (root / "opt/macsim/linux/sysctl").read_text() == "#!/bin/sh\necho linux\n"


def test_a_program_of_homebrew_is_hidden_until_it_is_installed(root):
    install(root)
    assert not (root / "usr/sbin/babeld").exists()
    assert (root / "opt/macsim/linux/babeld").exists()


def test_a_model_that_differs_from_the_description_is_refused(root):
    result = install(root, "Mac16,10")
    assert result.returncode == 1
    assert "model is Mac16,11, but --model says Mac16,10" in result.stderr
    assert not (root / "usr/sbin/networksetup").exists()


def test_group_0_is_wheel_first_and_the_names_of_debian_stay():
    text = merged_groups("root:x:0:\nman:x:12:\ndialout:x:20:pi\nstaff:x:50:\nsudo:x:27:admin\n", "admin")
    lines = text.splitlines()
    assert lines[0] == "wheel:x:0:"
    assert "staff:x:20:admin" in lines
    assert "admin:x:80:admin" in lines
    assert "root:x:0:" in lines
    assert "dialout:x:50:pi" in lines
    assert merged_groups(text, "admin") == text


def test_the_administrator_s_first_group_is_staff():
    text = merged_users("root:x:0:0::/root:/bin/sh\nadmin:x:1000:1000::/home/admin:/bin/bash\n", "admin")
    assert text.splitlines()[1] == "admin:x:1000:20::/home/admin:/bin/bash"


def test_one_python_reports_darwin_and_what_it_starts_does_not(root):
    base = Path(sys._base_executable).resolve()  # a virtual environment of a virtual environment would not do
    python.install(Paths(root), base)
    script = (
        "import json, os, platform, shutil, subprocess\n"
        f"child = subprocess.run(['{base}', '-c', 'import platform; print(platform.system())'],"
        " capture_output=True, text=True).stdout.strip()\n"
        "print(json.dumps([platform.system(), platform.machine(), os.path.exists('/proc'), child,"
        " shutil.rmtree.avoids_symlink_attacks]))\n"
    )
    done = subprocess.run([root / "opt/macsim/bin/python3", "-c", script], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == ["Darwin", "arm64", False, "Linux", True]
