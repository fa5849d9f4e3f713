# shellcheck shell=bash
# Two users of the test's own, by number: one who works, and one who would have a say in it.

[ "$(id -u)" = 0 ] || skip "needs root, to be two users"
as() { # uid, command...
  setpriv --reuid "$1" --regid "$1" --clear-groups env HOME="$here/home-$1" XDG_CONFIG_HOME="$here/home-$1/.config" \
    XDG_STATE_HOME="$here/home-$1/.state" TMPDIR=/tmp "${@:2}"
}
here=$PWD
alice=64001 mallory=64002
as "$alice" true 2>/dev/null || skip "root may not become another user here"
chmod 755 .
for user in "$alice" "$mallory"; do
  mkdir -p "home-$user/.config/sluice" "home-$user/.state"
  chown -R "$user:$user" "home-$user" 2>/dev/null || skip "root may not give files away here"
done
as "$alice" test -x "$SLUICE" || skip "an ordinary user cannot reach the build"
# shellcheck disable=SC2034 # for the cases
hers=$PWD/home-$alice theirs=$PWD/home-$mallory
