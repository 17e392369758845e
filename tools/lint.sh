#!/usr/bin/env bash
# Every linter, each over the whole tree; all of them run, and the exit status says whether one complained.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
bin=$PWD/.venv/bin
export PATH="$bin:$PATH" ANSIBLE_NOCOLOR=1
# The default inventory is the rack in a box, which need not be there.
export ANSIBLE_INVENTORY=$PWD/inventory/example
failed=()

check() {
  local name=$1 begin=$SECONDS log
  shift
  log=$(mktemp)
  if "$@" >"$log" 2>&1; then
    printf '%-14s ok      %3d s\n' "$name" $((SECONDS - begin))
  else
    printf '%-14s FAILED  %3d s\n' "$name" $((SECONDS - begin))
    cat "$log"
    failed+=("$name")
  fi
  rm -f "$log"
}

mapfile -t shell_files < <(git ls-files -co --exclude-standard -- '*.sh' '.ci/run')

check yamllint yamllint --strict .
check ruff ruff check .
check ruff-format ruff format --check .
# Two runs, because the code that Ansible sends to nodes and the package that runs there are separate programs.
check mypy mypy training tools
check mypy-plugins mypy --python-version 3.10 plugins/module_utils/espalier plugins/modules
check mypy-lab mypy molecule/lab/*.py
check shellcheck shellcheck "${shell_files[@]}"
check role-docs python tools/role_docs.py --check
check ansible-lint ansible-lint --offline -q

if [ "${#failed[@]}" -gt 0 ]; then
  printf 'lint: failed: %s\n' "${failed[*]}" >&2
  exit 1
fi
