#!/usr/bin/env bash
# Installs what `make demo` and `make test` need: Debian packages (Linux only) and the virtual environment .venv.
# Usage: tools/bootstrap.sh python|rack|local
#   python print the path of a Python that fits; nothing is installed
#   rack   the rack in a box and its tests: podman and friends, Ansible, torch, linters (root or sudo, Debian or Ubuntu)
#   local  torch and this package only; nothing outside .venv (any Linux or macOS with Python 3.11 to 3.13)
# Running it again costs a second: a stamp says what .venv was made from. Killed half-way, it is finished by the next run.
set -euo pipefail
cd "$(dirname "$0")/.."

profile=${1:-}
packages=(podman runc netavark aardvark-dns mmdebstrap iproute2 openssh-client iputils-ping python3-venv ca-certificates shellcheck g++)
case "$profile" in
  python | rack | local) ;;
  *)
    echo "bootstrap: say which profile: python, rack or local" >&2
    exit 2
    ;;
esac

fail() {
  printf 'bootstrap: %s\n' "$*" >&2
  exit 2
}

find_python() {
  local candidate
  # 3.11 first: the constraints file is tested with it, and ansible-core 2.19 supports it to 3.13.
  for candidate in "${ESPALIER_PYTHON:-}" python3.11 python3.12 python3.13 python3; do
    [ -n "$candidate" ] || continue
    command -v "$candidate" >/dev/null 2>&1 || continue
    "$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null || continue
    command -v "$candidate"
    return
  done
  fail "no Python from 3.11 to 3.13 was found: install one, or name it: ESPALIER_PYTHON=/path/to/python3.11"
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

install_packages() {
  [ "$(uname -s)" = Linux ] || fail "the rack in a box needs Debian or Ubuntu; on this system use: make demo-local"
  command -v apt-get >/dev/null 2>&1 || fail "the rack in a box needs Debian or Ubuntu (apt-get); on this system use: make demo-local"
  local missing=() name
  [ -n "$(find /var/lib/apt/lists -name '*_Packages*' -print -quit 2>/dev/null)" ] ||
    as_root apt-get -o DPkg::Lock::Timeout=300 -qq update
  for name in "${packages[@]}"; do
    # shellcheck disable=SC2016  # dpkg-query's own format
    [ "$(dpkg-query -W -f '${db:Status-Abbrev}' "$name" 2>/dev/null)" = 'ii ' ] && continue
    # netavark is podman's network from Debian 13 on; Debian 12 and Ubuntu 22.04 bring CNI with podman
    apt-cache show "$name" >/dev/null 2>&1 || case "$name" in netavark | aardvark-dns) continue ;; esac
    missing+=("$name")
  done
  [ "${#missing[@]}" -gt 0 ] || return 0
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null 2>&1 || fail "run this as root, or install sudo: it has to install ${missing[*]}"
  fi
  echo "installing from Debian: ${missing[*]}"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -qq update
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -qq -y --no-install-recommends install "${missing[@]}"
}

# A node's or a laptop's worth of torch: on Linux PyPI has a CUDA build of several GB, which a rack without NVIDIA
# hardware has no use for. The CPU build carries the local version +cpu, where pip's own sources have it or, else, at
# PyTorch's index. ESPALIER_TORCH names another requirement or a file.
install_torch() {
  local version
  version=$(sed -n 's/^torch==//p' constraints.txt)
  if [ -n "${ESPALIER_TORCH:-}" ]; then
    .venv/bin/pip install -q -c constraints.txt "$ESPALIER_TORCH"
  elif [ "$(uname -s)" = Darwin ]; then
    .venv/bin/pip install -q -c constraints.txt torch
  else
    .venv/bin/pip install -q -c constraints.txt "torch==$version+cpu" 2>/dev/null ||
      .venv/bin/pip install -q -c constraints.txt --extra-index-url https://download.pytorch.org/whl/cpu "torch==$version+cpu"
  fi
}

install_environment() {
  local requirement=$1 stamp=$2 want
  want=$(cat constraints.txt pyproject.toml | cksum)
  if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$want" ] && .venv/bin/python -c '' 2>/dev/null; then return 0; fi
  rm -f "$stamp"
  if ! .venv/bin/python -c 'import pip' 2>/dev/null; then
    rm -rf .venv
    "$python" -m venv .venv
  fi
  echo "installing Python packages into .venv"
  .venv/bin/python -c 'import torch' 2>/dev/null || install_torch
  .venv/bin/pip install -q -c constraints.txt -e "$requirement"
  printf '%s\n' "$want" >"$stamp"
}

python=$(find_python)
if [ "$profile" = python ]; then
  printf '%s\n' "$python"
elif [ "$profile" = rack ]; then
  install_packages
  install_environment '.[dev]' .venv/espalier-rack.stamp
elif [ -f .venv/espalier-rack.stamp ]; then
  # The rack's environment holds all that the local one needs.
  install_environment '.[dev]' .venv/espalier-rack.stamp
else
  install_environment . .venv/espalier-local.stamp
fi
