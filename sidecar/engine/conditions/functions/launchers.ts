// The programs and builtins of a shell that start other programs, set variables or change what names mean. `shell()`
// shows what a line starts, not what that starts in turn, so a line with one of them is undecided unless the rule names
// it. The list cannot be complete: `shell()` is a filter, no fence.

/** Always: whatever their arguments are. */
const always: ReadonlySet<string> = new Set([
  // Builtins that run a text or another command, or change what a name means.
  ...['eval', 'source', '.', 'exec', 'command', 'builtin', 'trap', 'alias', 'unalias', 'bind', 'complete', 'compgen', 'enable', 'hash'],
  // Builtins that set variables or options.
  ...['declare', 'typeset', 'local', 'export', 'readonly', 'let', 'read', 'mapfile', 'readarray', 'getopts', 'set', 'shopt', 'unset', 'coproc'],
  // Shells.
  ...['sh', 'bash', 'rbash', 'dash', 'ash', 'zsh', 'ksh', 'mksh', 'fish', 'csh', 'tcsh', 'pwsh', 'busybox', 'toybox'],
  // Programs that run the program which their arguments name.
  ...['env', 'xargs', 'parallel', 'sudo', 'doas', 'su', 'runuser', 'pkexec', 'nohup', 'setsid', 'nice', 'ionice', 'chrt', 'taskset', 'timeout'],
  ...['stdbuf', 'unbuffer', 'script', 'watch', 'entr', 'flock', 'strace', 'ltrace', 'gdb', 'perf', 'valgrind', 'chroot', 'unshare', 'nsenter'],
  ...['setpriv', 'capsh', 'systemd-run', 'daemon', 'start-stop-daemon', 'at', 'batch', 'crontab', 'dbus-run-session', 'xvfb-run', 'firejail', 'bwrap'],
  ...['ssh', 'rsh', 'docker', 'podman', 'kubectl', 'npx', 'bunx', 'uvx', 'exec-path', 'run-parts', 'time', 'faketime', 'catchsegv', 'ld.so'],
]);

type Decide = (words: readonly string[]) => boolean;

const some =
  (...starts: readonly string[]): Decide =>
  (words) =>
    words.some((word) => starts.some((start) => word === start || (start.endsWith('=') && word.startsWith(start))));

/** Short options may be written together, and with their value: `-c` is in `-pc` and in `-cname=value`. */
const shortOption =
  (letter: string): Decide =>
  (words) =>
    words.some((word) => /^-[A-Za-z]/.test(word) && word.includes(letter));

const any =
  (...deciders: readonly Decide[]): Decide =>
  (words) =>
    deciders.some((decide) => decide(words));

const packageRunner = some('exec', 'x', 'dlx', 'create', 'init', 'explore', 'node', 'bin');

/** By their arguments. */
const byArguments: Readonly<Record<string, Decide>> = {
  find: some('-exec', '-execdir', '-ok', '-okdir'),
  fd: any(some('--exec', '--exec-batch', '--exec=', '--exec-batch='), shortOption('x'), shortOption('X')),
  // Options before the subcommand, subcommands that run a command, and options that name a program.
  git: any(
    (words) => words.some((word, at) => at < subcommandAt(words) && !harmlessGitOption(word)),
    some('--exec=', '--exec', '-x', '--upload-pack=', '--upload-pack', '--receive-pack=', '--receive-pack', '--open-files-in-pager', '--extcmd', '--extcmd='),
    some('--open-files-in-pager=', '--template=', '--template', '--config', '--config=', '--server-option', '--edit-description'),
    (words) => gitRunners.has(words[subcommandAt(words)] ?? ''),
    (words) => words.some((word) => word.startsWith('ext::') || /^(?:-O|-c|-u)/.test(word)),
  ),
  npm: packageRunner,
  pnpm: packageRunner,
  yarn: packageRunner,
  bun: packageRunner,
  deno: some('run', 'x', 'task', 'eval'),
  pipx: some('run'),
  uv: some('run', 'tool'),
  cargo: some('run', 'install'),
  go: some('run', 'generate', 'tool'),
  tar: any(some('--to-command', '--to-command=', '--checkpoint-action', '--checkpoint-action=', '--use-compress-program', '--use-compress-program=', '--rsh-command', '--rsh-command=', '--info-script', '--info-script=', '--new-volume-script', '--new-volume-script='), shortOption('I'), shortOption('F')),
  rsync: any(some('--rsh', '--rsh=', '--rsync-path', '--rsync-path='), shortOption('e')),
  scp: any(shortOption('S'), shortOption('o')),
  sftp: any(shortOption('S'), shortOption('o'), shortOption('D')),
  awk: () => true,
  gawk: () => true,
  mawk: () => true,
  sed: (words) => words.some((word) => !word.startsWith('--') && /(?:^|[;{}/\d$\s])e(?:\s|$|;)|\/[a-z0-9]*e[a-z0-9]*$/i.test(word)),
  printf: some('-v'),
  wait: some('-p'),
  man: any(some('--pager', '--pager=', '--html', '--html='), shortOption('P'), shortOption('H')),
  less: () => true,
  more: () => true,
  vi: () => true,
  vim: () => true,
  nvim: () => true,
  emacs: () => true,
  ed: () => true,
  ex: () => true,
  zip: any(some('--unzip-command', '-TT'), shortOption('T')),
  split: some('--filter', '--filter='),
  sort: some('--compress-program', '--compress-program='),
};

/** Git's subcommands that run a command, or a program of the configuration. */
const gitRunners: ReadonlySet<string> = new Set([
  ...['bisect', 'difftool', 'mergetool', 'filter-branch', 'submodule', 'config', 'instaweb', 'web--browse', 'send-email', 'svn', 'p4', 'daemon'],
  ...['upload-archive', 'upload-pack', 'receive-pack', 'remote-ext', 'cvsimport', 'gui', 'citool', 'gitk', 'for-each-repo', 'hook', 'maintenance'],
]);

/** The index of the first word that is no option and no value of one. */
function subcommandAt(words: readonly string[]): number {
  let at = 0;
  while (at < words.length && words[at]?.startsWith('-') === true) at += valueOptions.has(words[at] ?? '') ? 2 : 1;
  return at;
}

const valueOptions: ReadonlySet<string> = new Set(['-C', '--git-dir', '--work-tree', '--namespace', '-c', '--config-env', '--exec-path']);
const harmless: ReadonlySet<string> = new Set(['--no-pager', '-P', '--no-optional-locks', '--literal-pathspecs', '--version', '--help', '-v', '-h', '--bare']);
const harmlessGitOption = (word: string): boolean => harmless.has(word);

/** The builtins and programs whose words are read as variables: a subscript in them runs the commands that it contains. */
export const readsSubscripts: ReadonlySet<string> = new Set(['test', '[', 'unset', 'printf', 'wait', 'read', 'declare', 'typeset', 'local', 'export', 'readonly', 'let', 'mapfile', 'readarray', 'getopts']);

/** Returns the name of a launcher. Null: the command starts only itself. `words`: its arguments. */
export function launcherOf(name: string, words: readonly string[]): string | null {
  const base = name.slice(name.lastIndexOf('/') + 1);
  if (always.has(base)) return base;
  const decide = Object.hasOwn(byArguments, base) ? byArguments[base] : undefined;
  return decide?.(words) === true ? base : null;
}

export const launchers = { always, byArguments: Object.keys(byArguments) };
