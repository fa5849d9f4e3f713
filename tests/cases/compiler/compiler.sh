# shellcheck shell=bash
# What the cases of the plug-in share: a library in libsluice's place that logs what the stub asks and sends every file
# elsewhere, so that a call which was not changed shows in two ways.
plugin=$SLUICE_BUILD/lib/sluice/sluice.so
stub=$SLUICE_BUILD/lib/libsluice-stub.a
data=$SLUICE_SOURCE/tests/cases/compiler/data
[ -f "$plugin" ] || skip "this build has no plug-in: it needs GCC 12, gcc-12-plugin-dev and no sanitizer"
need gcc-12 g++-12

make_library() {
  gcc-12 -Wall -Werror -shared -fPIC "$data/library.c" -o libasked.so
}

# Compiles with the plug-in, in the language of the file. No message may come.
build() { # source, option...
  local source=$1 compiler=gcc-12
  shift
  [ "${source##*.}" = c ] || [ "${source##*.}" = i ] || compiler=g++-12
  expect_status 0 "$compiler" -fplugin="$plugin" "$@" "$source" "$stub" -o program
  expect_empty stderr
}

# Runs the program in an empty folder; what was asked is then in `asked`, the files it made in `made`.
run_asked() {
  rm -rf asked work
  mkdir work
  (cd work && SLUICE_LIBRARY=$PWD/../libasked.so ASKED=$PWD/../asked ../program) ||
    fail "the program failed with status $?"
  (cd work && find . -type f -printf '%P\n' | LC_ALL=C sort) >made
}
