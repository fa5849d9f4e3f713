# shellcheck shell=bash
# Pages as a browser shows them. Needs tests/lib.sh.
need chromium

# The document after its script has run, on standard output: browse FILE [WIDTH]
browse() {
  local home
  home=$(mktemp -d "$PWD/browser.XXXXXX")
  HOME=$home timeout 100 chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
    --disable-background-networking --disable-component-update --disable-sync --disable-dev-shm-usage \
    --user-data-dir="$home/data" --window-size="${2:-1200},900" --virtual-time-budget=5000 --dump-dom \
    "file://$(realpath "$1")" 2>"$home/stderr" || { tail -n 20 "$home/stderr" >&2; fail "chromium shows no $1"; }
  rm -rf "$home"
}

# A copy of a page with a script of the test's behind its own: with_script PAGE SCRIPT COPY
with_script() {
  /usr/bin/python3 - "$@" <<'PYTHON'
import sys
page = open(sys.argv[1], encoding="utf-8").read()
at = page.rindex("</body>")
open(sys.argv[3], "w", encoding="utf-8").write(page[:at] + "<script>" + open(sys.argv[2]).read() + "</script>" + page[at:])
PYTHON
}
