"""Says which file of variables does not parse.

ansible-core reports a mistake in group_vars or host_vars without the name of the file (its plugin
host_group_vars drops it). This plugin reads the same files first, and gives no variables.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleParserError
from ansible.inventory.group import Group
from ansible.plugins.vars import BaseVarsPlugin

DOCUMENTATION = """
name: espalier_readable
version_added: "0.1"
short_description: Name the file of variables that does not parse
description: Reads group_vars and host_vars as Ansible does, and ends the run when a file does not parse.
extends_documentation_fragment: [vars_plugin_staging]
"""


class VarsModule(BaseVarsPlugin):  # type: ignore[misc]  # ansible-core has no types
    """What Ansible asks for."""

    is_stateless = True

    def get_vars(self, loader: Any, path: str, entities: Any, cache: bool = True) -> dict[str, Any]:
        """No variables.

        Raises:
            AnsibleParserError: a file does not parse; with its name, line and column.
        """
        base = Path(path) if Path(path).is_dir() else Path(path).parent
        for entity in entities if isinstance(entities, Sequence) else [entities]:
            folder = base / ("group_vars" if isinstance(entity, Group) else "host_vars")
            if folder.is_dir() and "/" not in entity.name:
                for file in loader.find_vars_files(str(folder), entity.name):
                    _read(loader, file)
        return {}


def _read(loader: Any, file: str) -> None:
    try:
        loader.load_from_file(file, cache="all", unsafe=True, trusted_as_template=True)
    except AnsibleParserError as problem:
        place = str(problem.obj or file)
        raise AnsibleParserError(
            f"{place}: this file of variables does not parse, and nothing was contacted or changed. "
            f"{problem.message} Correct it there or in a line above."
        ) from None
