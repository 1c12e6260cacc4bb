# Sourced by the scripts beside it: how they state what must hold, and how they end.
#
#   check  WHAT COMMAND…        the command succeeds
#   expect WHAT TEXT COMMAND…   it succeeds and its output has TEXT
#   refuse WHAT TEXT COMMAND…   it ends with status 1, not by a crash, and its output has TEXT
#   finish                      says how many held
# The first that does not hold ends the script with the command's whole output.

held=0
output=

check() { expect "$1" "" "${@:2}"; }

expect() {
  local what=$1 text=$2 status=0
  shift 2
  output=$("$@" 2>&1) || status=$?
  output=${output//$'\r'/}
  [ "$status" = 0 ] || broken "$what" "status $status instead of 0" "$@"
  has "$text" || broken "$what" "its output has no \"$text\"" "$@"
  holds "$what"
}

refuse() {
  local what=$1 text=$2 status=0
  shift 2
  output=$("$@" 2>&1) || status=$?
  output=${output//$'\r'/}
  [ "$status" = 1 ] || broken "$what" "status $status instead of 1" "$@"
  has "$text" || broken "$what" "its output has no \"$text\"" "$@"
  holds "$what"
}

has() { [[ $output == *"$1"* ]]; }

holds() {
  held=$((held + 1))
  printf '   holds: %s\n' "$1"
}

broken() {
  local what=$1 why=$2
  shift 2
  printf '\n   DOES NOT HOLD: %s: %s\n   command: %s\n%s\n' "$what" "$why" "$*" "$output"
  exit 1
}

finish() { printf '   %d statements hold\n' "$held"; }

# Removes directories of links into a store: what is read-only is made writable first.
remove_tree() {
  local directory
  for directory in "$@"; do
    [ -d "$directory" ] || continue
    find "$directory" -type d ! -perm -u+w -exec chmod u+w {} +
    rm -rf "$directory"
  done
}
