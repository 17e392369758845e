"""What this node knows about the rack: `/etc/espalier/node.yml`, written by the `training` role."""

import ipaddress
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from training.config import read_yaml
from training.errors import InputError
from training.validate import nearest

NODE_CONFIG = Path("/etc/espalier/node.yml")
FABRIC_PLAN = Path("/etc/espalier/fabric.json")


@dataclass(frozen=True)
class Node:
    """One member of the ring.

    Attributes:
        node: Its name in the inventory.
        address: Its fabric address, the only one that programs use.
    """

    node: str
    address: str


@dataclass(frozen=True)
class NodeConfig:
    """The content of `node.yml`.

    Attributes:
        node: This node's name.
        address: This node's fabric address.
        ring: All nodes in rank order; neighbours in it are neighbours by cable.
        master_port: TCP port of the store on the first rank's fabric address.
        threads: CPU threads of a rank; 0 leaves the number to torch.
        runs_dir: Where runs keep their files.
    """

    node: str
    address: str
    ring: tuple[Node, ...]
    master_port: int = 29500
    threads: int = 0
    runs_dir: Path = Path("/var/lib/espalier/runs")

    def select(self, nodes: str) -> tuple[Node, ...]:
        """The members that take part, in ring order.

        Args:
            nodes: `all`, or names with commas.

        Raises:
            InputError: A name is unknown, or this node is not among them.
        """
        if nodes == "all":
            return self.ring
        wanted = [name.strip() for name in nodes.split(",") if name.strip()]
        known = [member.node for member in self.ring]
        for name in wanted:
            if name not in known:
                raise InputError(f"--nodes {nodes}: {name} is not in the ring. {nearest(name, known)}")
        if self.node not in wanted:
            raise InputError(
                f"--nodes {nodes}: this node is {self.node}, which is not among them. "
                f"Start the command on {' and '.join(wanted) or 'a node of the ring'} instead."
            )
        return tuple(member for member in self.ring if member.node in wanted)


def load_node_config(path: Path = NODE_CONFIG) -> NodeConfig:
    """Reads and checks a node's configuration.

    Raises:
        InputError: The file is missing, not YAML, has an unknown key, or contradicts itself.
    """
    if not path.exists():
        raise InputError(
            f"{path}: does not exist, so this machine is not set up as a node. Run ansible-playbook "
            "site.yml, or add --local-ranks 1 to train on this machine alone."
        )
    content = read_yaml(path)
    if not isinstance(content, dict):
        raise InputError(f"{path}: must be a mapping with node, address and ring.")
    known = list(NodeConfig.__dataclass_fields__)
    for key in content:
        if key not in known:
            raise InputError(f"{path}: unknown key {key}. {nearest(str(key), known)}")
    node = _text(content, "node", path)
    address = _address(content, path, "address")
    ring = _ring(content.get("ring"), path)
    own = {member.node: member.address for member in ring}.get(node)
    if own != address:
        raise InputError(
            f"{path}: node is {node} at {address}, but ring says {own or 'nothing of that name'}. "
            "Run ansible-playbook site.yml again."
        )
    runs_dir = content.get("runs_dir", str(NodeConfig.runs_dir))
    if not isinstance(runs_dir, str):
        raise InputError(f"{path}: runs_dir is {runs_dir!r}, but must be a path.")
    return NodeConfig(
        node=node,
        address=address,
        ring=ring,
        master_port=_whole(content, "master_port", NodeConfig.master_port, 1, 65535, path),
        threads=_whole(content, "threads", NodeConfig.threads, 0, 1024, path),
        runs_dir=Path(runs_dir),
    )


def _ring(value: object, path: Path) -> tuple[Node, ...]:
    if not isinstance(value, list) or not value:
        raise InputError(f"{path}: ring must be a list of {{node, address}}, in rank order.")
    members = []
    for index, item in enumerate(value):
        if not isinstance(item, dict) or set(item) != {"node", "address"}:
            raise InputError(f"{path}: ring[{index}] is {item!r}, but must have exactly node and address.")
        place = f"ring[{index}]"
        members.append(Node(_text(item, "node", path, place), _address(item, path, f"{place}.address")))
    for attribute in ("node", "address"):
        values = [getattr(member, attribute) for member in members]
        twice = {entry for entry in values if values.count(entry) > 1}
        if twice:
            raise InputError(f"{path}: ring has {attribute} {sorted(twice)[0]} twice. Each must be its own.")
    return tuple(members)


def _text(content: dict[str, Any], key: str, path: Path, place: str = "") -> str:
    value = content.get(key)
    if not isinstance(value, str) or not value:
        where = f"{place}.{key}" if place else key
        raise InputError(f"{path}: {where} is {value!r}, but must be a name.")
    return value


def _address(content: dict[str, Any], path: Path, where: str) -> str:
    value = content.get("address")
    try:
        return str(ipaddress.IPv4Address(value if isinstance(value, str) else ""))
    except ipaddress.AddressValueError as error:
        raise InputError(
            f"{path}: {where} is {value!r}, but must be an IPv4 address such as 10.77.0.1; names are not "
            "resolved, because macOS answers with the wrong interface."
        ) from error


def _whole(content: dict[str, Any], key: str, default: int, least: int, most: int, path: Path) -> int:
    value = content.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise InputError(f"{path}: {key} is {value!r}, but must be a whole number from {least} to {most}.")
    return value


def cable_hints(path: Path = FABRIC_PLAN) -> dict[str, list[str]]:
    """For each neighbour, the cables of this node that lead to it, as a person would name them.

    The fabric plan only improves error messages, so a missing or unreadable one gives an empty answer.
    """
    try:
        plan = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    hints: dict[str, list[str]] = {}
    for link in plan.get("links", []) if isinstance(plan, dict) else []:
        if isinstance(link, dict) and isinstance(link.get("peer"), str):
            port = link.get("port", "?")
            peer_port = link.get("peer_port", "?")
            hints.setdefault(link["peer"], []).append(f"port {port} to {link['peer']} port {peer_port}")
    return hints
