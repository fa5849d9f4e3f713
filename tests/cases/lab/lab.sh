# shellcheck shell=bash
# What the cases about the lab share. tests/lib.sh comes first.
export SLUICE_LAB=$PWD/lab

# Whatever becomes of the case: what it attached by hand goes while its file can still be told by its name.
end_lab() {
  local file
  for file in /sys/block/loop*/loop/backing_file; do
    case $(cat "$file" 2>/dev/null) in
      "$case_folder"/*)
        file=${file#/sys/block/}
        losetup --detach "/dev/${file%%/*}" 2>/dev/null || true
        ;;
    esac
  done
  "$SLUICE" lab down >/dev/null 2>&1 || true
}
case_folder=$PWD
trap end_lab EXIT

# Skips where devices cannot be served and attached.
need_devices() {
  need losetup
  [ -c /dev/fuse ] || skip "no /dev/fuse here"
  [ -c /dev/loop-control ] || skip "no loop devices here"
  need_mounts
}

# A new device; its status is then in stdout. Without calibration, because nothing here is about exact times.
device() { # name, option...
  expect_status 0 "$SLUICE" lab device --no-calibration --json "$@"
}

# Attaches a device of the lab to a loop device, whose path it prints.
attach() { # name
  losetup --direct-io=on --find --show "$SLUICE_LAB/$1/disk"
}

detach() { # loop device...
  losetup --detach "$@"
}

# One request past the page cache; prints what came of it, see data/disk.py.
io() { # file, read|write|flush|discard, operand...
  /usr/bin/python3 "$SLUICE_SOURCE/tests/cases/lab/data/disk.py" "$@"
}

# Status of the lab, in the file status.json.
look() {
  "$SLUICE" lab status --json >status.json
}

# The lab's loop devices. One whose file was unmounted under it has the file "/".
loops() {
  local file
  for file in /sys/block/loop*/loop/backing_file; do
    case $(cat "$file" 2>/dev/null) in "$SLUICE_LAB"/*) file=${file#/sys/block/} && echo "${file%%/*}" ;; esac
  done
}

# Processes of this test that serve the lab or work for it.
servers() {
  local file
  for file in /proc/[0-9]*; do
    case $(cat "$file/comm" 2>/dev/null) in
      sluice | sluice-lab)
        if grep -qzxF "SLUICE_TEST_ID=$SLUICE_TEST_ID" "$file/environ" 2>/dev/null; then
          echo "${file#/proc/}"
        fi
        ;;
    esac
  done
}

# Waits until a command says yes. Only for what must come: a limit for what hangs.
until_true() { # command...
  local _
  for _ in $(seq 600); do
    "$@" && return
    sleep 0.1
  done
  fail "never came true: $*"
}

# A command that takes at least so long. Its output is then in stdout.
took() { # seconds, command...
  local begin
  begin=$(date +%s%N)
  expect_status 0 "${@:2}"
  awk -v ns="$(($(date +%s%N) - begin))" -v least="$1" 'BEGIN { exit !(ns / 1e9 >= least) }' ||
    fail "took less than $1 s: ${*:2}"
}

detached() { # loop...: names as loops prints them
  local name
  for name; do
    case $(cat "/sys/block/$name/loop/backing_file" 2>/dev/null) in / | "$SLUICE_LAB"/*) return 1 ;; esac
  done
}

# Nothing of the lab is there any more. The loop devices are those that it had before.
expect_nothing_left() { # loop...
  expect_equal "$(servers)" ''
  expect_equal "$(awk -v lab="$SLUICE_LAB/" 'index($5, lab) == 1 { print $5 }' /proc/self/mountinfo)" ''
  [ ! -e "$SLUICE_LAB" ] || fail "the folder is there: $(find "$SLUICE_LAB")"
  until_true detached "$@"
}

# `lab down`, and nothing is left.
down() {
  local had
  mapfile -t had < <(loops)
  expect_status 0 "$SLUICE" lab down --json
  expect_nothing_left "${had[@]}"
}
