#!/usr/bin/env python3
"""Makes and removes the rack in a box: podman containers as machines, veth pairs as Thunderbolt cables.

molecule/lab/rack.py up                      make it, or complete it; what is there already stays
molecule/lab/rack.py up --name test --nodes 4 --cabling mesh
molecule/lab/rack.py status
molecule/lab/rack.py ssh mac1 [command...]
molecule/lab/rack.py cut mac1 2              pull the cable in port 2 of mac1; `plug` puts it back
molecule/lab/rack.py stop mac2               switch a machine off; `start` and `reboot`
molecule/lab/rack.py down                    remove it; the cached root file system stays
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import lab_verbs as verbs
from lab_image import cache_folder
from lab_plan import CABLINGS, LabError

# What the lab reads from the environment, and sudo would drop.
SETTINGS = ("ESPALIER_LAB_CONTAINERS_CONF", "PATH", "http_proxy", "https_proxy", "no_proxy")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a verb; 0 done, 1 failed (or, for status, not all of it runs), 2 wrong usage, 130 interrupted."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    options = _parser().parse_args(words)
    try:
        if options.verb != "ssh":
            _become_root([options.verb, "--name", options.name, *_given(options)])
        return _run(options)
    except LabError as error:
        print(f"rack: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("rack: interrupted; the same command again completes it", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    added_verbs = parser.add_subparsers(dest="verb", required=True)
    default_name = os.environ.get("ESPALIER_LAB") or "demo"

    def verb(word: str, text: str) -> argparse.ArgumentParser:
        added = added_verbs.add_parser(word, help=text)
        added.add_argument("--name", default=default_name, help="of the lab (ESPALIER_LAB, else demo)")
        return added

    made = verb("up", "make a lab, or complete it")
    nodes = os.environ.get("ESPALIER_LAB_NODES") or None
    cabling = os.environ.get("ESPALIER_LAB_CABLING") or None
    made.add_argument("--nodes", type=int, default=nodes, help="Macs, 2 to 6 (ESPALIER_LAB_NODES, else 3)")
    made.add_argument("--cabling", default=cabling, help=f"{', '.join(CABLINGS)} (ESPALIER_LAB_CABLING, else ring)")
    made.add_argument("--cpus", type=float, help="cores that each machine may use at most, such as 0.5 (else all)")
    verb("down", "remove a lab")
    verb("status", "machines and cables of a lab; exit status 1 unless all run and are plugged in")
    for word, text in (("cut", "pull a cable"), ("plug", "put a cable back")):
        added = verb(word, text)
        added.add_argument("host")
        added.add_argument("port", type=int)
    for word, text in (("stop", "switch a machine off"), ("start", "and on"), ("reboot", "off and on")):
        verb(word, text).add_argument("host")
    shell = verb("ssh", "log in, or run a command")
    shell.add_argument("host")
    shell.add_argument("command", nargs=argparse.REMAINDER)
    return parser


def _given(options: argparse.Namespace) -> list[str]:
    """The options of a verb as words, whether they came from the command line or from the environment."""
    words = []
    for name in ("nodes", "cabling", "cpus"):
        if getattr(options, name, None) is not None:
            words += [f"--{name}", str(getattr(options, name))]
    return words + [str(getattr(options, name)) for name in ("host", "port") if hasattr(options, name)]


def _become_root(words: Sequence[str]) -> None:
    """Go on as root, through sudo.

    Raises:
        LabError: There is no sudo.
    """
    if os.geteuid() == 0:
        return
    if shutil.which("sudo") is None:
        raise LabError("machines with a network of their own need root: install sudo, or run this as root")
    settings = {name: os.environ[name] for name in SETTINGS if name in os.environ}
    # The cache is the person's, not root's; and root leaves no bytecode in the checkout.
    settings |= {"ESPALIER_CACHE": str(cache_folder().parent), "PYTHONDONTWRITEBYTECODE": "1"}
    pairs = [f"{name}={value}" for name, value in settings.items()]
    os.execvp("sudo", ["sudo", "--", "env", *pairs, sys.executable, str(Path(__file__).resolve()), *words])


def _run(options: argparse.Namespace) -> int:
    name = options.name
    if options.verb == "up":
        verbs.up(name, options.nodes, options.cabling, options.cpus)
    elif options.verb == "down":
        verbs.down(name)
    elif options.verb == "status":
        return verbs.status(name)
    elif options.verb in ("cut", "plug"):
        verbs.plug(name, options.host, options.port, plugged=options.verb == "plug")
    elif options.verb == "ssh":
        verbs.log_in(name, options.host, options.command)
    else:
        verbs.power(name, options.verb, options.host)
    return 0


if __name__ == "__main__":
    sys.exit(main())
