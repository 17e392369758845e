#!/usr/bin/env bash
# Runs the molecule scenarios on one shared rack, which the scenario `default` makes and removes.
# Usage: tools/molecule.sh [scenario...]      all of them by default
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/.venv/bin:$PATH" ANSIBLE_NOCOLOR=1

if [ "$#" -eq 0 ]; then
  mapfile -t scenarios < <(find molecule -mindepth 2 -maxdepth 2 -name molecule.yml -printf '%h\n' | sed 's,^molecule/,,' | grep -vx default | sort)
else
  scenarios=("$@")
fi
[ "${#scenarios[@]}" -gt 0 ] || {
  echo "molecule: no scenario was found under molecule/" >&2
  exit 2
}

mkdir -p build/molecule
passed=0
failed=()
for scenario in "${scenarios[@]}"; do
  begin=$SECONDS
  log=build/molecule/$scenario.log
  if molecule test -s "$scenario" --destroy=never >"$log" 2>&1; then
    printf 'molecule %-14s ok      %4d s\n' "$scenario" $((SECONDS - begin))
    passed=$((passed + 1))
  else
    printf 'molecule %-14s FAILED  %4d s   log: %s\n' "$scenario" $((SECONDS - begin)) "$log"
    tail -n 60 "$log"
    failed+=("$scenario")
  fi
done
molecule destroy -s default >build/molecule/destroy.log 2>&1 || failed+=("default destroy")
printf '%d passed, %d failed\n' "$passed" "${#failed[@]}"
[ "${#failed[@]}" -eq 0 ]
