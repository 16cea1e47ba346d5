# Runs each line of /lines, which end in NUL, in a shell of its own, and writes to file 200 which commands it looks up:
# the number of the line, the number of words, and the words, each with a NUL. A line feed is replaced by U+001E. No
# command is found. Each line runs twice: without builtins, which are then looked up too, and with those that do not act
# on other processes. A command ends with 0 or 1 by chance, so that the branches of a line run.
exec 200>&1 0</dev/null 1>/dev/null 2>&1
cd /work || exit
mapfile -d '' -t __lines </lines
# Commands that run at the same time write whole records, because a record is written at once if it has no line feed.
command_not_found_handle() {
  enable printf
  printf '%s\0' "$__at" "$#" "${@//$'\n'/$'\036'}" >&200
  ((SRANDOM & 1))
}
set -f
__none=()
for __name in $(compgen -b); do
  case $__name in eval | enable | break | continue) ;; *) __none+=("$__name") ;; esac
done
set +f
__few=(. source bg bind caller disown exec exit fc fg hash help history jobs kill logout pushd popd dirs return suspend times trap type ulimit umask)
# A loop ends after so many commands.
__prepare() {
  ulimit -t 1 -f 8 -u 64
  __count=0
  set -T
  trap '((++__count < 200)) || { enable exit; exit; }' DEBUG
  enable -n "$@"
}
for __at in "${!__lines[@]}"; do
  (
    __prepare "${__none[@]}"
    eval "${__lines[__at]}"
  )
  (
    __prepare "${__few[@]}"
    eval "${__lines[__at]}"
  )
  # The line has been run to its end.
  printf '%s\0' "$__at" 0 >&200
done
