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

# Skips where a command that the case cannot do without is missing.
need() { # command...
  local command
  for command; do
    command -v "$command" >/dev/null || skip "no $command here"
  done
}

# The compiler's options for a program that uses a library of this build: sanitizers have to be in both.
sanitizers() {
  sed -n 's/^SLUICE_SANITIZE:STRING=\(..*\)/-fsanitize=\1/p' "$SLUICE_BUILD/CMakeCache.txt"
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

# Bounded in count, not by the clock.
wait_until() { # command...
  for _ in $(seq 1000); do
    "$@" && return
    sleep 0.01
  done
  fail "gave up: $*"
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

# The file is one JSON document, and as docs/schema/NAME.json says.
expect_schema() { # file, name
  /usr/bin/python3 - "$1" "$SLUICE_SOURCE/docs/schema/$2.json" <<'PYTHON' || fail "$1 is not as docs/schema/$2.json says"
import json, sys
import jsonschema
with open(sys.argv[2]) as file:
    schema = json.load(file)
with open(sys.argv[1]) as file:
    document = json.load(file)
kind = jsonschema.validators.validator_for(schema)
kind.check_schema(schema)
# One schema may refer to another beside it.
resolver = jsonschema.RefResolver("file://" + sys.argv[2], schema)
errors = list(kind(schema, resolver=resolver).iter_errors(document))
for error in errors:
    print(f"{error.json_path}: {error.message}")
sys.exit(bool(errors))
PYTHON
}
