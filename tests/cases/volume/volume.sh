# shellcheck shell=bash
# What cases of volumes share: their own folder of volumes, and nothing left behind.

export SLUICE_VOLUMES=$PWD/volumes
mounts=()

need_volume() {
  need losetup
  [ -c /dev/fuse ] || skip "no /dev/fuse here"
  [ -c /dev/loop-control ] || skip "no loop devices here"
  need_mounts
}

# However the case ends. A server that was killed leaves its mount.
clean_volumes() {
  local name device folder
  for folder in "${mounts[@]}"; do
    umount "$folder" 2>/dev/null || umount -l "$folder" 2>/dev/null || true
  done
  for folder in "$SLUICE_VOLUMES"/*/; do
    name=$(basename "$folder")
    while read -r device; do
      losetup -d "$device" || true
    done < <(losetup -n -O NAME -j "$folder/disk" 2>/dev/null)
    "$SLUICE" volume stop --force "$name" >/dev/null 2>&1 || true
  done
}
trap clean_volumes EXIT

# Mounts the volume's device on a folder of its own.
mount_volume() { # device, folder
  mkdir -p "$2"
  mounts+=("$PWD/$2")
  mount "$1" "$2"
}
