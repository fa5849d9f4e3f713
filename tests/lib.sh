# shellcheck shell=bash
# Helpers for system tests. A case begins with:
#   set -euo pipefail
#   . "$SLUICE_SOURCE/tests/lib.sh"
# Debian's modules belong to /usr/bin/python3; another python3 may come first in somebody's PATH.

fail() { # message
  printf 'failed at line %s: %s\n' "${BASH_LINENO[-2]}" "$*" >&2
  exit 1
}

skip() { # reason
  printf '%s\n' "$*"
  exit 77
}

. "$SLUICE_SOURCE/scripts/lab.sh"

# Skips where a command that the case cannot do without is missing.
need() { # command...
  local command
  for command; do
    command -v "$command" >/dev/null || skip "no $command here"
  done
}

# Skips where no file system can be mounted, as in a container.
need_mounts() {
  mkdir -p probe
  mount -t tmpfs tmpfs probe 2>/dev/null || skip "cannot mount here"
  umount probe
  rmdir probe
}

# Whether we see that another user has a file open: root in a container does not.
sees_others_files() {
  local found=''
  touch theirs
  if [ "$(id -u)" = 0 ] && chown 1 theirs 2>/dev/null; then
    /usr/bin/python3 -c 'import fcntl; fcntl.fcntl(open("theirs"), fcntl.F_SETLEASE, fcntl.F_RDLCK)' 2>/dev/null &&
      found=yes
  fi
  rm -f theirs
  [ -n "$found" ]
}

# Whether files can be found without their names, by which those that were removed are told from those that were moved.
opens_by_handle() {
  /usr/bin/python3 -c '
import ctypes, os
libc = ctypes.CDLL(None)
handle = (ctypes.c_uint * 34)(128)
mount = ctypes.c_int()
assert libc.name_to_handle_at(-100, b".", handle, ctypes.byref(mount), 0) == 0
assert libc.open_by_handle_at(os.open(".", os.O_RDONLY), handle, 0) >= 0' 2>/dev/null
}

# The compiler's options for a program that uses a library of this build: sanitizers have to be in both.
sanitizers() {
  sed -n 's/^SLUICE_SANITIZE:STRING=\(..*\)/-fsanitize=\1/p' "$SLUICE_BUILD/CMakeCache.txt"
}

# Programs of the case, which the build made of tests/programs/<part>/<case>/NAME.c or NAME.cc.
take() { # name...
  cp -- "${@/#/$SLUICE_TEST_PROGRAMS/}" .
}

# Skips where what is preloaded has a sanitizer in it, which other programs cannot take.
need_preload() {
  [ -z "$(sanitizers)" ] || skip "the library to be preloaded has a sanitizer in it"
}

# Runs a command; its output is then in the files stdout and stderr, its exit status in $status.
run() { # command...
  status=0
  "$@" >stdout 2>stderr || status=$?
}

expect_status() { # status, command...
  local expected=$1
  shift
  run "$@"
  [ "$status" = "$expected" ] && return
  printf -- '--- standard output\n'
  cat stdout
  printf -- '--- standard error\n'
  cat stderr
  fail "exit status $status instead of $expected: $*"
}

expect_contains() { # file, text
  grep -qF -- "$2" "$1" && return
  cat "$1"
  fail "$1 does not contain: $2"
}

expect_lacks() { # file, text
  grep -qF -- "$2" "$1" || return 0
  cat "$1"
  fail "$1 contains: $2"
}

expect_equal() { # actual, expected
  [ "$1" = "$2" ] || fail "'$1' instead of '$2'"
}

expect_empty() { # file
  [ ! -s "$1" ] && return
  cat "$1"
  fail "$1 is not empty"
}

# How many rounds: so many, of which CI does a sample. SLUICE_SOAK multiplies the whole.
rounds() { # number, sample (default: all)
  if [ -n "${SLUICE_SOAK:-}" ]; then echo $(($1 * SLUICE_SOAK)); else echo "${2:-$1}"; fi
}

# Whether one of many that are numbered is tried: each where SLUICE_SOAK is set, otherwise one of so many.
sampled() { # number, of how many
  [ -n "${SLUICE_SOAK:-}" ] || [ $(($1 % $2)) = 0 ]
}

# Bounded in count, not by the clock.
wait_until() { # command...
  for _ in $(seq 1000); do
    "$@" && return
    sleep 0.01
  done
  fail "gave up: $*"
}

# Leaves whatever else the machine has out of the configuration, sluice.toml: a case must neither choose its places nor
# put in order what lies there. The name . is the place that this folder is on.
only_places() { # name...
  "$SLUICE" places --config sluice.toml --json | /usr/bin/python3 -c '
import json, os, sys
places = json.load(sys.stdin)["places"]
here = [p for p in places if (os.getcwd() + "/").startswith(p["mount"].rstrip("/") + "/")]
kept = set(sys.argv[1:])
if "." in kept and here:
    kept.add(max(here, key=lambda p: len(p["mount"]))["name"])
for place in places:
    if place["name"] not in kept:
        print("[place." + json.dumps(place["name"]) + "]\nignore = true")' "$@" >others.toml
  cat others.toml >>sluice.toml
}

# Types the commands of a page of docs/ as they are printed, one after another, in a folder `page`; the output is in out.
follow_page() { # name
  mkdir -p bin page
  ln -sf "$SLUICE" bin/sluice
  export PATH="$PWD/bin:$PATH"
  # shellcheck disable=SC2016 # the page's marks
  sed -n '/^```sh$/,/^```$/ { /^```/d; p }' "$SLUICE_SOURCE/docs/$1" >script
  [ -s script ] || fail "docs/$1 has no commands"
  (cd page && bash -e ../script) >out 2>&1 || { cat out; fail "docs/$1 does not work as it is printed"; }
}

# A Python expression over the document d in a JSON file: json stdout 'd["chosen"]'
json() { # file, expression
  /usr/bin/python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
value = eval(sys.argv[2])
print(value if isinstance(value, str) else json.dumps(value))' "$1" "$2"
}

# The file is one JSON document, and as docs/schema/NAME.json says. It is put aside, and tests/run checks all that were
# put aside when the case has ended: a Python with jsonschema takes longer to start than most cases' steps.
expect_schema() { # file, name
  local copy=$SLUICE_TEST_DOCUMENTS/$2.line-${BASH_LINENO[-2]}.$EPOCHREALTIME.$BASHPID
  [ ! -e "$copy" ] || fail "$copy exists"
  cp -- "$1" "$copy" || fail "no document $1"
}
