// The command lines of hooks as users change them: which start tollgate, which uninstall removes, and which block a
// call.
import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HostName } from '@tollgate/proto/contract';
import { describe, expect, test } from 'vitest';
import { hookLine, isOurLine, lineProblem, orExit, orSay, readHookLine } from '../../cli/hooks/command-line.ts';
import { parseShellLine, type Shell } from '../../cli/hooks/shell-line.ts';
import { folder } from './cli.ts';

const deny = '{"permissionDecision":"deny"}';

describe('the lines that install writes', () => {
  const line = { program: '"/opt/node" "/opt/bin.js"', hostVersion: '0.169.0', agent: 'ann laptop', waitMs: 50_000 };
  test.each([
    ['claude-code', 'sh'],
    ['codex', 'sh'],
    ['codex', 'cmd'],
    ['cursor', 'cmd'],
    ['gemini-cli', 'sh'],
    ['gemini-cli', 'powershell'],
    ['copilot-cli', 'sh'],
    ['copilot-cli', 'powershell'],
    ['opencode', 'sh'],
    ['cline', 'cmd'],
  ] as const)('block in %s by %s, guarded and bare, and are recognised', (host, shell) => {
    const bare = hookLine(host, line);
    const guarded = host === 'copilot-cli' ? orSay(bare, deny, shell) : orExit(bare, shell);
    for (const text of [guarded, shell === 'powershell' ? `& ${bare}` : bare]) {
      expect(readHookLine(host, text)).toEqual(line);
      expect([isOurLine(host, text), lineProblem(host, text, shell)]).toEqual([true, null]);
    }
  });
});

describe('lines that block', () => {
  test.each([
    ['claude-code', 'sh', 'tollgate.cmd hook claude-code'],
    ['claude-code', 'sh', 'tollgate hook claude-code || exit 2 # note'],
    ['claude-code', 'sh', 'TOLLGATE_SIDECAR=http://127.0.0.1:9191 tollgate hook claude-code||exit 2;'],
    ['claude-code', 'sh', 'exec "$HOME/bin/tollgate" hook claude-code 2>>/tmp/log'],
    ['claude-code', 'sh', '/usr/bin/env tollgate hook claude-code || exit 2'],
    ['claude-code', 'sh', '"/usr/bin/node" "/srv/node_modules/.bin/tollgate" hook claude-code --agent claude-code || exit 2'],
    ['claude-code', 'sh', 'toll\\\ngate hook claude-code \\\n  || exit 2'],
    ['claude-code', 'sh', 'npx --yes tollgate hook claude-code --agent=ann || exit 2'],
    ['claude-code', 'sh', 'tollgate hook claude-code --wait-ms=0 --agent ann || exit 2'],
    ['codex', 'sh', 'tollgate hook codex --wait-ms 3600000'],
    ['claude-code', 'sh', 'npx -y -p @tollgate/control-plane tollgate hook claude-code'],
    ['claude-code', 'sh', 'npx @tollgate/control-plane@0.1.0 hook claude-code'],
    ['claude-code', 'sh', 'npx -y -p @tollgate/cli tollgate hook claude-code'],
    ['claude-code', 'sh', 'npx @tollgate/cli@0.1.0 hook claude-code'],
    ['codex', 'cmd', 'C:\\tools\\tollgate.exe hook codex || exit /b 2'],
    ['codex', 'cmd', 'npx.cmd tollgate hook codex --host-version 0.169.0 || exit 2'],
    ['codex', 'cmd', '"C:\\Program Files\\node.exe" --no-warnings "C:\\x\\bin.js" hook codex'],
    ['gemini-cli', 'powershell', '& "C:\\node.exe" "C:\\bin.js" hook gemini-cli; if ($LASTEXITCODE -ne 0) { exit $LASTEXITCODE }'],
    ['gemini-cli', 'powershell', 'tollgate.cmd hook gemini-cli'],
  ] as const)('%s by %s: %s', (host, shell, text) => {
    expect(readHookLine(host, text)).not.toBeNull();
    expect([isOurLine(host, text), lineProblem(host, text, shell)]).toEqual([true, null]);
    expect([isOurLine('cursor', text), readHookLine('cursor', text)]).toEqual([false, null]);
  });
});

const right = (host: HostName) => `correct is what tollgate hooks install ${host} writes, such as "tollgate hook ${host} || exit 2"`;

describe('lines that start tollgate and do not block are ours, and are reported with the correct line', () => {
  test.each([
    ['true || tollgate hook claude-code', 'runs "true" before tollgate'],
    ['cd /shop && tollgate hook claude-code', 'runs "cd /shop" before tollgate'],
    ['tollgate hook claude-code ; true', 'does not end with the exit code of tollgate: "; true"'],
    ['tollgate hook claude-code | tee x', 'does not end with the exit code of tollgate: "| tee x"'],
    ['tollgate hook claude-code || true', 'does not end with the exit code of tollgate: "|| true"'],
    ['tollgate hook claude-code || exit 1', '"|| exit 1"'],
    [`tollgate hook claude-code || echo '${deny}'`, 'does not end with the exit code of tollgate'],
    ['tollgate hook claude-code || exit 2; true', '"|| exit 2 ; true"'],
    ['tollgate hook claude-code &', 'does not wait for tollgate (&)'],
    ['tollgate hook claude-code > /dev/null', 'redirects the input or output of tollgate (>)'],
    ['tollgate hook claude-code < /dev/null || exit 2', 'redirects the input or output of tollgate (<)'],
    ['tollgate hook claude-code 2>&1', '(2>&)'],
    ['tollgate hook claude-code --more', 'gives tollgate "--more", which are not known arguments'],
    ['timeout 1 tollgate hook claude-code', 'does not only start tollgate'],
    ['tollgate hook claude-code --wait-ms soon', 'gives tollgate "--wait-ms soon", which are not known arguments'],
    ['tollgate hook claude-code --wait-ms 3600001', 'which are not known arguments'],
    ['! tollgate hook claude-code', 'does not only start tollgate'],
    ['(true && tollgate hook claude-code || exit 2', 'does not only start tollgate'],
    ['# tollgate hook claude-code', 'does not only start tollgate'],
    ['echo tollgate hook claude-code', 'does not only start tollgate'],
  ])('%s', (text, words) => {
    expect(isOurLine('claude-code', text)).toBe(true);
    expect(lineProblem('claude-code', text, 'sh')).toContain(`the line ${JSON.stringify(text)} `);
    expect(lineProblem('claude-code', text, 'sh')).toContain(words);
  });

  test('the correct line is printed in full', () => {
    expect(lineProblem('codex', 'tollgate hook codex; true', 'sh')).toContain(right('codex'));
    expect(lineProblem('codex', 'timeout 1 tollgate hook codex', 'sh')).toMatch(/correct is what tollgate hooks install codex writes$/);
    expect(lineProblem('gemini-cli', 'tollgate.cmd hook gemini-cli; exit 0', 'powershell')).toContain(
      'such as "& tollgate.cmd hook gemini-cli; if ($LASTEXITCODE -ne 0) { exit 2 }"',
    );
  });
});

test.each([
  'tollgate hook codex && mine',
  'tollgate hook codex; ./mine.sh',
  './mine.sh; tollgate hook codex | mine',
  './mine.sh; tollgate hook codex',
  './mine.sh && tollgate hook codex || exit 2',
  'tollgate hook codex || ./mine.sh',
])('a line that also starts a program of the user is ours, and is left to the user: %s', (text) => {
  expect(readHookLine('codex', text)).not.toBeNull();
  expect(isOurLine('codex', text)).toBe(false);
  expect(lineProblem('codex', text, 'sh')).toContain(right('codex'));
});

test('a line that is too long is not parsed, and is reported', () => {
  const text = `tollgate hook codex${' --agent a'.repeat(1_000)}; true`;
  expect([readHookLine('codex', text), lineProblem('codex', `${text} `.repeat(100), 'sh')]).toEqual([null, expect.any(String)]);
});

test.each([
  'echo "tollgate hook codex"',
  "echo 'tollgate hook codex failed' >> log",
  'tollgate hooks install codex',
  'tollgate hook codex2',
  'my-tollgate hook codex ; true',
  'node mine.js bin.js hook codex; true',
  'bash -c "tollgate hook codex"',
  '',
])('a line that does not start tollgate is not ours: %s', (text) => {
  expect([readHookLine('codex', text), isOurLine('codex', text)]).toEqual([null, false]);
});

test('with sh itself: wherever a line counts as blocking, its host receives the exit code and the answer of tollgate', () => {
  const place = folder();
  const ran = join(place, 'ran');
  writeFileSync(join(place, 'tollgate'), `#!/bin/sh\necho ran >> '${ran}'\ncat\nexit 2\n`, { mode: 0o755 });
  const before = ['', 'A=1 ', 'exec ', 'true; ', 'true || ', 'false || ', 'true && ', 'cat | ', '! ', '"" ', '# ', 'if true; then ', '( '];
  const behind = [
    '',
    ' || exit 2',
    ' || exit 2 # x',
    '; true',
    ' || true',
    ' | cat',
    ' &',
    ' &&true',
    ';',
    ' > /dev/null',
    ' 2>&1',
    '\ntrue',
  ];
  const wrong: string[] = [];
  let blocking = 0;
  for (const text of before.flatMap((one) => behind.map((other) => `${one}tollgate hook codex${other}`))) {
    if (lineProblem('codex', text, 'sh') !== null) continue;
    blocking++;
    rmSync(ran, { force: true });
    const { status, stdout } = spawnSync('/bin/sh', ['-c', text], { input: 'asked', env: { PATH: `${place}:/usr/bin:/bin` } });
    if (status !== 2 || String(stdout) !== 'asked' || readFileSync(ran, 'utf8') !== 'ran\n') wrong.push(text);
  }
  expect(wrong).toEqual([]);
  expect(blocking).toBe(12);
});

test.each([
  ['sh', `a "b c"'d'\\ e && f 2>/x|g`, [['a', 'b cd e'], ['f'], ['g']]],
  ['sh', 'a "C:\\node.exe" "\\"" ; # b', [['a', 'C:\\node.exe', '"']]],
  ['sh', '\n\n a\n b #c\n', [['a'], ['b']]],
  ['cmd', 'C:\\a.cmd "x ^ y" ^& z & b', [['C:\\a.cmd', 'x ^ y', '&', 'z'], ['b']]],
  ['powershell', `& 'a b' "c\`"d" e#f | g # h`, [['a b', 'c"d', 'e#f'], ['g']]],
] as const satisfies readonly (readonly [Shell, string, readonly (readonly string[])[]])[])('%s reads %j', (shell, text, commands) => {
  expect(parseShellLine(text, shell)?.commands.map(({ words }) => words.map((one) => one.text))).toEqual(commands);
});

test.each(['a "b', "a 'b", 'a $(b)', 'a "`b`"', '(a)', 'a; { b; }', 'if a; then b; fi', '&& a', 'a >'])(
  'a line with more than plain commands is not parsed: %s',
  (text) => {
    expect(parseShellLine(text, 'sh')).toBeNull();
  },
);
