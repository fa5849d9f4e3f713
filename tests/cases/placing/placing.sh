# shellcheck shell=bash
# What the cases about placing share. tests/lib.sh comes first.

# Two places: work, where the paths are, and fast, which every plan prefers. Root gets file systems of their own.
two_places() {
  mkdir work fast
  if [ "$(id -u)" = 0 ]; then
    mount -t tmpfs -o mode=755,size=64m tmpfs work 2>/dev/null || skip "cannot mount here"
    mount -t tmpfs -o mode=755,size=64m tmpfs fast
  fi
  local name
  for name in work fast; do
    printf '[place.%s]\npath = "%s"\nvolatile = false\nmttf = "10y"\nlatency = "1us"\nmax-iops = 1000000\n' \
      $name "$PWD/$name" >>sluice.toml
  done
  # The one is slower than anything, the other faster.
  sed -i '/place.fast/,$ s/^latency/write-bandwidth = "90G\/s"\nread-bandwidth = "90G\/s"\nlatency/' sluice.toml
  sed -i '/place.work/,/place.fast/ s/^latency/write-bandwidth = "1M\/s"\nread-bandwidth = "1M\/s"\nlatency/' sluice.toml
  if [ "$(id -u)" = 0 ]; then only_places work fast; else only_places work fast .; fi
  export SLUICE_CONFIG=$PWD/sluice.toml
  places=$PWD
}

# Everything that is said of a file or a tree, and a checksum of the bytes.
facts() { # path
  /usr/bin/python3 "$SLUICE_SOURCE/tests/cases/placing/data/facts.py" "$1"
}

# Nothing is placed, and nothing is left on the place or beside the paths.
expect_nothing_placed() {
  expect_status 0 "$SLUICE" status --json
  expect_schema stdout status
  expect_equal "$(json stdout '[d["placed"], d["leftover"]]')" '[[], []]'
  expect_equal "$(find "$places/fast" -mindepth 2)" ''
  expect_equal "$(find "$places/work" -name '*.sluice-*')" ''
  expect_equal "$(/usr/bin/python3 - "${XDG_STATE_HOME}/sluice/catalog.db" <<'PYTHON'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
print(db.execute("select count(*) from files").fetchone()[0], db.execute("select coalesce(sum(low + high), 0) from promises").fetchone()[0])
PYTHON
)" '0 0'
}

expect_placed() { # path
  [ -L "$1" ] || fail "$1 is no link"
  case $(readlink "$1") in "$places/fast/sluice-placed-$(id -u)/"*) ;; *) fail "$1 leads to $(readlink "$1")" ;; esac
}
