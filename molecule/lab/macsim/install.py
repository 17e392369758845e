"""Turns a Debian system container into a simulated Mac. Running it again changes nothing.

python3 /opt/macsim/install.py --model Mac16,11 --node-config /var/db/macsim/node.json
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from macsim.core.node import load_node
from macsim.core.paths import Paths
from macsim.setup import accounts, commands, files, python, services


def main() -> int:
    """Install everything; print what changed."""
    parser = argparse.ArgumentParser(description="Turn this Debian container into a simulated Mac.")
    parser.add_argument("--model", required=True, help="model identifier, such as Mac16,11")
    parser.add_argument("--node-config", required=True, type=Path, help="description of this node (JSON)")
    parser.add_argument("--root", default="/", help="install below this folder (for tests)")
    parser.add_argument("--no-start", action="store_true", help="do not start the services now")
    arguments = parser.parse_args()
    paths = Paths(arguments.root)
    try:
        node = load_node(arguments.node_config)
        if node.model_id != arguments.model:
            raise ValueError(
                f"{arguments.node_config}: model is {node.model_id}, but --model says "
                f"{arguments.model}; make them equal"
            )
        changed = files.install(paths, arguments.node_config)
        changed += commands.install(paths)
        changed += accounts.install(paths)
        changed += python.install(paths)
        changed += services.install(paths, start=not arguments.no_start)
    except (OSError, ValueError) as error:
        print(f"macsim: {error}", file=sys.stderr)
        return 1
    for line in changed:
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
