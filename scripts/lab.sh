# shellcheck shell=bash
# Whether `sluice lab` can make devices and places here. Each need is tried, not guessed from who we are: root in a
# container may have none of it. Prints what is missing, and nothing where all is there.

# Devices are files that FUSE serves.
fuse_missing() {
  if [ ! -c /dev/fuse ]; then
    echo "there is no /dev/fuse"
  elif ! true 2>/dev/null <>/dev/fuse; then
    echo "/dev/fuse may not be opened"
  fi
}

# Mounts of our own. The kernel refuses /dev/null as a device only after it has found nothing else to refuse, and has
# loaded the file system by then.
mounts_missing() { # file system...
  local type said
  for type; do
    said=$(LC_ALL=C mount -n -t "$type" /dev/null /mnt 2>&1) || true
    if [[ $said != *'not a block device'* ]]; then
      echo "file systems may not be mounted"
    elif ! grep -qw "$type" /proc/filesystems; then
      echo "this kernel has no $type"
    else
      continue
    fi
    return
  done
}

loops_missing() {
  if [ ! -c /dev/loop-control ]; then
    echo "there are no loop devices"
  elif ! true 2>/dev/null <>/dev/loop-control; then
    echo "loop devices may not be used"
  fi
}

# All that `sluice lab up` needs of the system. Programs that are not installed are not its matter: `lab up` names them.
lab_missing() {
  local reason
  if [ "$(id -u)" != 0 ]; then
    echo "this is not root"
    return
  fi
  reason=$(fuse_missing)
  [ -n "$reason" ] || reason=$(loops_missing)
  [ -n "$reason" ] || reason=$(mounts_missing ext4 btrfs)
  echo "$reason"
}
