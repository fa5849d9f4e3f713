# shellcheck shell=bash
# What the scripts share. They run from any folder, ask nothing and read nothing from standard input.

root=$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")
cd "$root" || exit

if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
  bold=$'\e[1m' plain=$'\e[0m'
else
  bold='' plain=''
fi

step() { # heading
  printf '\n%s== %s%s\n' "$bold" "$*" "$plain"
}

die() { # message
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

# Installs what is missing of the groups in scripts/packages.
install_packages() { # group...
  local group package state wanted=() missing=() become=()
  local -A installed=()
  while read -r group package; do
    [[ " $* " != *" $group "* ]] || wanted+=("$package")
  done < <(grep '^[a-z]' "$root/scripts/packages")
  if ! command -v dpkg-query >/dev/null; then
    echo "Not a Debian system; going on in the hope that it has the like of: ${wanted[*]}"
    return
  fi
  while read -r state package; do
    [ "$state" != installed ] || installed[$package]=yes
  done < <(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${wanted[@]}" 2>/dev/null)
  for package in "${wanted[@]}"; do
    [ -n "${installed[$package]:-}" ] || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0

  step "Installing ${missing[*]}"
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || die "these packages are missing, and there is neither root nor sudo to install \
them with; as root: apt-get install --no-install-recommends ${missing[*]}"
    become=(sudo)
  fi
  become+=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)
  "${become[@]}" update </dev/null || die "apt-get update failed"
  "${become[@]}" install --no-install-recommends -y "${missing[@]}" </dev/null >/dev/null ||
    die "could not install ${missing[*]}"
}

# Configures build/release. The demo and the tests share that folder, so neither may undo what the other
# chose: the demo leaves SLUICE_TESTS alone where the tests have switched it on. Benchmarks are for scripts/bench alone.
configure_release() { # cmake option...
  local werror=OFF log
  # A warning is an error with the compiler that CI has. A newer one may warn of more, and that must not
  # keep anybody from building.
  [ "$("${CXX:-g++}" -dumpversion)" != 12 ] || werror=ON
  log=$(cmake --preset release -DSLUICE_WERROR=$werror "$@" 2>&1) || {
    printf '%s\n' "$log" >&2
    die "cmake could not configure $root/build/release"
  }
}

# Builds quietly: ninja's progress on a terminal, otherwise only what went wrong.
build() { # folder, target...
  local folder=$1 log
  shift
  set -- cmake --build "$folder" --parallel "$(nproc)" "${@/#/--target=}"
  if [ -t 1 ]; then
    "$@"
  else
    log=$("$@" 2>&1) || {
      printf '%s\n' "$log" | grep -vE '^\[[0-9]+/[0-9]+\] (Building|Linking|Writing)' >&2
      die "the build in $folder failed"
    }
  fi
}

# Runs tests of a build, more at once than there are cores: a case mostly waits, for a process, a disk or a clock.
# Those that measure say `# alone` and run one after another, when the others have ended. Only root can give each case a
# /dev/shm of its own; where they share one, a case recovers what others' killed runs left there, so it is one at a time.
run_tests() { # folder, ctest option...
  local jobs=1
  if [ "$(id -u)" = 0 ] && unshare --mount --pid --fork true 2>/dev/null; then jobs=$((3 * $(nproc))); fi
  ctest --test-dir "$1" --output-on-failure --no-tests=error --parallel "$jobs" "${@:2}"
}
