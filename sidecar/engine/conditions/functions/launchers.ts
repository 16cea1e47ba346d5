// The commands that start another program which their words name, and the builtins that set variables or change what
// names mean. `shell()` shows what a line starts, not what that starts in turn. So a line with one of them is undecided
// unless the rule names it. The list cannot be complete: `shell()` is a filter, no fence.
import { isText, type LineWord, mayBeOption } from './shell-words.ts';
import { list, type Rule, starts, startsByAwk, startsByGit, startsBySed, startsByTar } from './starting-words.ts';

/** Whatever their words are. */
const always: ReadonlySet<string> = new Set([
  ...list('eval source . exec builtin trap alias unalias bind complete compgen compopt enable hash fc coproc shopt'),
  ...list('declare typeset local export readonly let read mapfile readarray getopts unset'),
  ...list('sh bash rbash dash ash zsh ksh mksh fish csh tcsh pwsh busybox toybox'),
  ...list('env xargs parallel sudo doas su sg newgrp runuser pkexec nohup setsid nice ionice chrt taskset numactl choom timeout'),
  ...list('stdbuf unbuffer expect script watch watchexec entr nodemon concurrently flock strace ltrace gdb gdbserver lldb perf valgrind'),
  ...list('rr chroot fakeroot proot unshare nsenter setpriv setarch linux32 linux64 prlimit cpulimit capsh cgexec systemd-run daemon'),
  ...list('start-stop-daemon at batch crontab dbus-run-session dbus-launch ssh-agent xvfb-run firejail bwrap torsocks proxychains'),
  ...list('proxychains4 rlwrap hyperfine screen tmux dtach abduco ssh rsh mosh npx pnpx bunx uvx pipx npm-run-all direnv mise'),
  ...list('sshpass autossh run0 gosu su-exec tini dumb-init chpst setuidgid envdir setlock logsave sem chronic nix-shell corepack'),
  ...list('wine mono emacsclient vimdiff rvim rview nvi xdg-open m4 dc jshell ghci irb pry ipython'),
  ...list('run-parts time faketime catchsegv ld.so socat less more most vi vim nvim view ex ed emacs nano pico man info'),
]);

const node: Rule = { long: list('eval print require import loader experimental-loader'), short: 'epr' };
const python: Rule = { short: 'c' };

/** By their words. */
const byWords: Readonly<Record<string, Rule>> = {
  set: (words) =>
    words.some((word) => typeof word !== 'string' || !/^(?:-[efux]+|-[efux]*o|\+[ex]|pipefail|errexit|nounset|xtrace|noglob)$/.test(word)),
  // With these options it only prints.
  command: ([first]) => first !== '-v' && first !== '-V',
  jobs: { short: 'x' },
  find: { words: list('-exec -execdir -ok -okdir') },
  fd: { long: list('exec exec-batch'), short: 'xX' },
  rg: { long: list('pre hostname-bin') },
  git: startsByGit,
  npm: {
    // `pkg set` and `set-script` write scripts that `npm test` runs.
    commands: list('exec x create init innit explore config c set edit pkg set-script'),
    long: list('script-shell shell node-options git editor browser viewer'),
  },
  pnpm: { except: list('install i add remove rm uninstall un update up run test t start list ls outdated audit why pack publish prune') },
  yarn: { except: list('install add remove run test start list outdated audit why pack publish upgrade info') },
  bun: { except: list('install i add remove rm update test build pm outdated audit why') },
  deno: { except: list('fmt lint check cache info test doc types add remove outdated') },
  // A variable of make may be the shell of its recipes.
  make: (words) =>
    starts({ long: list('eval file makefile'), short: 'Ef' }, words) || words.some((word) => isText(word) && /^[^-][^=]*=/.test(word)),
  cmake: { short: 'EP' },
  mvn: (words) => words.some((word) => typeof word !== 'string' || word.includes('exec')),
  uv: { except: list('sync lock add remove pip venv tree build publish cache version') },
  poetry: { except: list('install add remove update lock show build check version') },
  pipenv: { except: list('install uninstall update lock graph sync check') },
  conda: { except: list('install create remove update list search info') },
  bundle: { except: list('install update lock list check outdated show add remove') },
  cargo: {
    except: list('build b check c test t bench fmt clippy doc d clean add remove rm update tree metadata search fetch'),
    long: ['config'],
  },
  go: {
    except: list('build test vet fmt mod get list version doc clean help'),
    words: list('-exec -toolexec -vettool --exec --toolexec --vettool'),
  },
  dotnet: { except: list('build test restore clean publish pack add remove list format') },
  docker: { except: list('ps images image logs inspect version info pull build stop start restart rm rmi stats top port tag push') },
  podman: { except: list('ps images image logs inspect version info pull build stop start restart rm rmi stats top port tag push') },
  kubectl: { except: list('get describe logs version top explain api-resources api-versions cluster-info'), words: list('--kubeconfig') },
  ip: { words: list('netns vrf') },
  nc: { short: 'ec' },
  ncat: { long: list('exec sh-exec lua-exec'), short: 'ec' },
  tar: startsByTar,
  zip: { long: list('unzip-command'), short: 'T' },
  rsync: { long: list('rsh rsync-path'), short: 'eM' },
  scp: { short: 'SoF' },
  sftp: { short: 'SoDF' },
  wget: { long: list('use-askpass execute config'), short: 'e' },
  sort: { long: list('compress-program') },
  split: { long: list('filter') },
  gcc: { words: list('-wrapper') },
  apt: { long: list('option config-file'), short: 'oc' },
  'apt-get': { long: list('option config-file'), short: 'oc' },
  dpkg: { long: list('pre-invoke post-invoke status-logger') },
  sqlite3: (words) => words.some((word) => typeof word !== 'string' || /\.(?:sh|sy|lo|re|im|o)|^-?-(?:init|cmd)/.test(word)),
  psql: (words) => words.some((word) => typeof word !== 'string' || word.includes('\\')),
  mysql: (words) => words.some((word) => typeof word !== 'string' || /\\|system|^--(?:pager|init)/.test(word)),
  sed: startsBySed,
  awk: startsByAwk,
  gawk: startsByAwk,
  mawk: startsByAwk,
  nawk: startsByAwk,
  python,
  pypy: python,
  node,
  nodejs: node,
  tsx: { long: list('eval print require import'), short: 'epr' },
  perl: { short: 'eEMm' },
  ruby: { short: 'er' },
  php: { long: list('run process-code process-begin process-end'), short: 'rRBEd' },
  lua: { short: 'el' },
  luajit: { short: 'el' },
  r: { short: 'e' },
  rscript: { short: 'e' },
  julia: { long: list('eval print load'), short: 'eEL' },
  groovy: { short: 'e' },
  elixir: { long: list('eval rpc-eval require'), short: 'er' },
  erl: { words: list('-eval -run -s') },
  rpm: { long: list('eval pipe define'), short: 'ED' },
  osascript: { short: 'e' },
};

/** Returns the name of a launcher. Null: the command starts only itself. `words`: without the name. */
export function launcherOf(name: string, words: readonly LineWord[]): string | null {
  for (const program of programsOf(name)) {
    if (always.has(program)) return program;
    const rule = Object.hasOwn(byWords, program) ? byWords[program] : undefined;
    if (rule !== undefined) return starts(rule, words) ? program : null;
  }
  return null;
}

/** The programs that a name may stand for: with another ending or version, and with the `g` of GNU on other systems. */
function programsOf(name: string): readonly string[] {
  const base = name
    .slice(name.lastIndexOf('/') + 1)
    .toLowerCase()
    .replace(/\.(?:exe|com|cmd|bat)$/, '');
  if (/^ld[\w.-]*\.so[\d.]*$/.test(base)) return ['ld.so'];
  const program = base.replace(/-?[\d.]+$/, '');
  return [base, program, ...(program.startsWith('g') ? [program.slice(1)] : [])];
}

/** The builtins whose words are names of variables that they set, and the options with which they do only that. */
export const settingBuiltins: Readonly<Record<string, RegExp>> = {
  declare: /^-[xrgp]+$/,
  typeset: /^-[xrgp]+$/,
  local: /^-[xr]+$/,
  export: /^-[np]+$/,
  readonly: /^-p$/,
  unset: /^-v$/,
  read: /^-[rs]+$/,
  mapfile: /^-t$/,
  readarray: /^-t$/,
};

/** Whether a builtin evaluates a word as the name of a variable: a subscript in it runs the commands that it contains. */
export function evaluatesSubscript(name: string, words: readonly LineWord[]): boolean {
  const mayHaveSubscript = (word: LineWord | undefined): boolean => word !== undefined && !(isText(word) && !word.includes('['));
  const mayBe = (word: LineWord, option: RegExp): boolean => (isText(word) ? option.test(word) : mayBeOption(word));
  switch (name) {
    case 'let':
    case 'getopts':
      return true;
    case 'test':
    case '[':
      return words.some(
        (word, at) =>
          (!isText(word) && !word.isOneWord && word.start === '') || (mayBe(word, /^-[vR]$/) && mayHaveSubscript(words[at + 1])),
      );
    case 'printf':
      return words.length > 1 && words[0] !== undefined && mayBe(words[0], /^-v/);
    case 'wait':
      return words.some((word) => mayBe(word, /^-[a-z]*p/));
    default:
      return false;
  }
}

/** For the documents: the launchers, and those that are launchers only with some words. */
export const launchers: { readonly always: readonly string[]; readonly byWords: readonly string[] } = {
  always: [...always],
  byWords: Object.keys(byWords),
};
