"""Names that an inventory may use: variables of no role, of Ansible's connections, and groups.

The variables of a role are not listed here; they are in its meta/argument_specs.yml.
"""

from __future__ import annotations

GROUPS = ("macs", "heads", "rack")

# The names of an inventory that are its owner's own, and look like ours by chance.
OWN_NAMES = "espalier_own_names"

ESPALIER_VARIABLES = (
    "espalier_model",
    "espalier_max_clock_skew_s",
    "espalier_output",
    "espalier_raw",
    OWN_NAMES,
)

# What the playbooks take by -e, described at the top of each.
PLAYBOOK_VARIABLES = (
    "benchmark_iperf_s",
    "benchmark_jobs",
    "benchmark_set",
    "benchmark_sizes",
    "training_job",
    "training_lease_s",
    "training_nodes",
    "training_output",
    "training_replace",
    "training_set",
    "training_timeout_s",
)

# The fabric's variables, known also where the role thunderbolt is not there to say so.
FABRIC_VARIABLES = ("thunderbolt_cables", "thunderbolt_node_id", "thunderbolt_range")

# "Special variables" and "Connecting to hosts: behavioral inventory parameters" of Ansible's documentation.
ANSIBLE_VARIABLES = (
    "ansible_become",
    "ansible_become_exe",
    "ansible_become_flags",
    "ansible_become_method",
    "ansible_become_pass",
    "ansible_become_password",
    "ansible_become_user",
    "ansible_connection",
    "ansible_host",
    "ansible_password",
    "ansible_pipelining",
    "ansible_port",
    "ansible_private_key_file",
    "ansible_python_interpreter",
    "ansible_remote_tmp",
    "ansible_scp_executable",
    "ansible_scp_extra_args",
    "ansible_sftp_executable",
    "ansible_sftp_extra_args",
    "ansible_shell_executable",
    "ansible_shell_type",
    "ansible_ssh_args",
    "ansible_ssh_common_args",
    "ansible_ssh_executable",
    "ansible_ssh_extra_args",
    "ansible_ssh_host",
    "ansible_ssh_pass",
    "ansible_ssh_password",
    "ansible_ssh_pipelining",
    "ansible_ssh_port",
    "ansible_ssh_private_key_file",
    "ansible_ssh_retries",
    "ansible_ssh_timeout",
    "ansible_ssh_user",
    "ansible_sudo_exe",
    "ansible_timeout",
    "ansible_user",
)

# What Ansible itself puts among a host's variables.
MAGIC_VARIABLES = (
    "ansible_check_mode",
    "ansible_config_file",
    "ansible_diff_mode",
    "ansible_facts",
    "ansible_forks",
    "ansible_inventory_sources",
    "ansible_limit",
    "ansible_local",
    "ansible_playbook_python",
    "ansible_run_tags",
    "ansible_skip_tags",
    "ansible_verbosity",
    "ansible_version",
    "discovered_interpreter_python",
    "group_names",
    "groups",
    "inventory_dir",
    "inventory_file",
    "inventory_hostname",
    "inventory_hostname_short",
    "module_setup",
    "playbook_dir",
)
