# shellcheck shell=bash
# Two users without any privilege, for a case that root runs: . "$SLUICE_SOURCE/tests/users.sh"; need_users

# Numbers are enough for the kernel. Nobody's, and different for each case that runs.
# shellcheck disable=SC2034 # the case has them
need_users() {
  [ "$(id -u)" = 0 ] || skip "only root can become another user"
  first_user=$((200000000 + $$ % 1000000 * 2))
  second_user=$((first_user + 1))
  as "$first_user" true 2>/dev/null || skip "cannot become another user here"
  chmod 755 .
}

as() { # user, command...
  local user=$1
  shift
  setpriv --reuid "$user" --regid "$user" --clear-groups --bounding-set=-all --inh-caps=-all -- "$@"
}
