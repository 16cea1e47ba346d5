# The one bash process in which all blocks of README run. Each line of its input names a block: `shell` or `background`, the file of
# commands and the file for their output, separated by tabs. It answers `done` on its output after each block. A command that
# fails ends it; `<output>.failures` then says its line, exit code and text. `$1/trace` ends with the command that runs now. Started by `shell.ts`.
# The files of commands begin with empty lines, so that line numbers are those of README.
set -eEuo pipefail
shopt -s inherit_errexit
declare -A readme_background=()

# readme_failed <exit code> <line> <command>: of a function that a block calls, the line is that of the block.
readme_failed() {
  local line=$2 at
  for ((at = 2; at < ${#FUNCNAME[@]}; at++)); do
    if [ "${FUNCNAME[at]}" = source ]; then line=${BASH_LINENO[at - 1]}; fi
  done
  printf '%s\t%s\t%s\n' "$line" "$1" "${3//$'\n'/ }" >>"$readme_output.failures"
}
trap 'readme_failed "$?" "$LINENO" "$BASH_COMMAND"' ERR
exec {BASH_XTRACEFD}>"$1/trace"
PS4='readme:${LINENO}: '

while IFS=$'\t' read -r readme_kind readme_file readme_output; do
  set -x
  case $readme_kind in
    shell) source "$readme_file" </dev/null >"$readme_output" 2>&1 ;;
    background)
      (source "$readme_file") </dev/null >"$readme_output" 2>&1 &
      readme_background[$readme_file]=$!
      ;;
    # Whether the background block of that file still runs.
    alive) kill -0 "${readme_background[$readme_file]}" 2>/dev/null || { echo ended; continue; } ;;
  esac
  { set +x; } 2>/dev/null
  echo 'done'
done
