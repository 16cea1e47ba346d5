# The one bash process that runs all blocks of a page. Each line of its input names a block: `shell` or `background`,
# the file of commands and the file for their output, separated by tabs. It prints `done` after each block. A command
# that fails ends it; `<output>.failures` then holds its line, exit code and text. Programs that blocks start with `&`
# must run at the end of each block, unless the page ended them by `kill` or waited for them. `$1/trace` ends with the
# current command. Started by `shell.ts`. The files of commands begin with empty lines, so that line numbers are those
# of the page.
set -eEuo pipefail
shopt -s inherit_errexit
declare -A readme_background=()

# readme_failed <exit code> <line> <command>: for a function that a block calls, the line is that of the block.
readme_failed() {
  local line=$2 at
  for ((at = 2; at < ${#FUNCNAME[@]}; at++)); do
    if [ "${FUNCNAME[at]}" = source ]; then line=${BASH_LINENO[at - 1]}; fi
  done
  printf '%s\t%s\t%s\n' "$line" "$1" "${3//$'\n'/ }" >>"$readme_output.failures"
}
trap 'readme_failed "$?" "$LINENO" "$BASH_COMMAND"' ERR

# By the id of a program that a block started with `&`: its line and command. `readme_at` is that of the previous
# command.
declare -A readme_programs=()
readme_last='' readme_at='' readme_new=''
readme_note() {
  if [ "${!:-}" != "$readme_last" ]; then
    readme_last=$! readme_new=1
    readme_programs[$!]=$readme_at
  fi
  readme_at="$1"$'\t'"${2//$'\n'/ }"
}

# The page ends a program, or waits for it: the program may end.
readme_release() {
  local word
  for word in "$@"; do
    if [[ $word = %* ]]; then word=$(jobs -p "$word"); fi
    if [[ $word =~ ^[0-9]+$ ]]; then unset "readme_programs[$word]"; fi
  done
}
kill() { readme_note "$LINENO" kill; readme_release "$@"; builtin kill "$@"; }
wait() {
  readme_note "$LINENO" wait
  if [ $# = 0 ]; then readme_programs=(); else readme_release "$@"; fi
  builtin wait "$@"
}

# A program that cannot be started ends a moment after its start.
readme_ask_programs() {
  local pid
  if [ -n "$readme_new" ]; then sleep 0.3; fi
  readme_new=''
  for pid in "${!readme_programs[@]}"; do
    builtin kill -0 "$pid" 2>/dev/null && continue
    printf '%s\tprogram\t%s\n' "${readme_programs[$pid]%%$'\t'*}" "${readme_programs[$pid]#*$'\t'}" >>"$readme_output.failures"
    unset "readme_programs[$pid]"
  done
}
exec {BASH_XTRACEFD}>"$1/trace"
PS4='readme:${LINENO}: '

while IFS=$'\t' read -r readme_kind readme_file readme_output; do
  set -x
  case $readme_kind in
    shell)
      # Background jobs of this script are not programs of the block. `-T` brings the trap into the file.
      readme_last=${!:-}
      set -T
      trap 'readme_note "$LINENO" "$BASH_COMMAND"' DEBUG
      source "$readme_file" </dev/null >"$readme_output" 2>&1
      trap - DEBUG
      set +T
      { set +x; } 2>/dev/null
      readme_note 0 ''
      readme_ask_programs
      ;;
    # Checks that all programs still run at the end of the page.
    programs) { set +x; } 2>/dev/null; readme_ask_programs ;;
    background)
      (source "$readme_file") </dev/null >"$readme_output" 2>&1 &
      readme_background[$readme_file]=$!
      ;;
    # Checks that the background block of that file still runs.
    alive) builtin kill -0 "${readme_background[$readme_file]}" 2>/dev/null || { echo ended; continue; } ;;
  esac
  { set +x; } 2>/dev/null
  echo 'done'
done
