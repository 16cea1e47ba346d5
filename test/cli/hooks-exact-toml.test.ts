// Hooks in the settings of Codex: install, use, edit by hand, let Codex write, uninstall. Each document goes the same way
// twice, with us and without, and is the same in the end, byte for byte.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { hookHash, stateKey } from '../../control-plane/cli/hooks/codex-trust.ts';
import { wayOf } from '../../control-plane/cli/hooks/handler.ts';
import { hostSettings } from '../../control-plane/cli/hooks/host-settings.ts';
import { placesIn } from '../../control-plane/cli/hooks/settings-toml.ts';
import { isToml, parseToml } from '../../control-plane/cli/hooks/toml.ts';

const { codex } = hostSettings;
const path = '/home/ann/.codex/config.toml';
const way = (more = '') => ({ kind: 'command', command: `"/usr/bin/node" "/opt/tollgate/bin.js" hook codex${more}` }) as const;

/** A document of both worlds. `made`: what install keeps. */
interface Worlds {
  readonly ours: string;
  readonly theirs: string;
  readonly made: readonly string[];
}

type Edit = (worlds: Worlds) => Worlds;
const both =
  (change: (text: string) => string): Edit =>
  ({ ours, theirs, made }) => ({ ours: change(ours), theirs: change(theirs), made });
const onlyOurs =
  (change: (text: string) => string): Edit =>
  (worlds) => ({ ...worlds, ours: change(worlds.ours) });

const install =
  (more = ''): Edit =>
  ({ ours, theirs, made }) => {
    const bare = codex.remove(ours, made, { path, keepsState: true });
    const edit = codex.add(bare, way(more));
    return { ours: edit.text, theirs, made: [...made, ...edit.made] };
  };

const isOurs = (handler: unknown): boolean => wayOf('codex', handler) !== null;

/** As toml_edit writes a table that is new: behind the last that says something, every line with \n alone. */
function codexAppends(text: string, table: readonly string[]): string {
  const lines = text.replaceAll('\r\n', '\n').split('\n');
  const last = lines.findLastIndex((line) => !/^\s*(?:#|$)/.test(line));
  const body = lines.slice(0, last + 1);
  const rest = lines.slice(last + 1).join('\n');
  const block = [...(body.length === 0 ? [] : ['']), ...table];
  return `${[...body, ...block].join('\n')}\n${rest}`;
}

const trustLines = (text: string, isWanted: (handler: unknown) => boolean): readonly string[] =>
  placesIn(parseToml(text))
    .filter(({ handler }) => isWanted(handler))
    .flatMap((place) => ['', `[hooks.state.'${stateKey(path, place)}']`, `trusted_hash = "${hookHash(place)}"`]);

/** Codex writes down that all hooks of the file were trusted; those of others stand before ours, at the same places. */
const trustAll: Edit = ({ ours, theirs, made }) => {
  const known = /\[hooks\.state/.test(theirs) || /\[hooks\.state/.test(ours);
  if (known) return { ours, theirs, made };
  const others = trustLines(theirs, () => true);
  const withTheirs = others.length === 0 ? theirs : codexAppends(theirs, ['[hooks.state]', ...others]);
  const all = [...trustLines(ours, (handler) => !isOurs(handler)), ...trustLines(ours, isOurs)];
  const withOurs = codexAppends(ours, ['[hooks.state]', ...all]);
  // A file that is not written keeps its line ends.
  return { ours: withOurs, theirs: others.length === 0 ? rewritten(withTheirs) : withTheirs, made };
};
const rewritten = (text: string): string => {
  const plain = text.replaceAll('\r\n', '\n');
  // Of a last line that is a comment it is not asked.
  return /(?:^|\n)\s*(?:#[^\n]*)?$/.test(plain) ? plain : `${plain}\n`;
};

const words = fc.constantFrom('alpha', 'beta', 'gamma');
const value = fc.constantFrom(
  '1',
  '"x"',
  "'# no comment'",
  '[1, 2]',
  '{ a = 1 }',
  'true',
  '1979-05-27T07:32:00Z',
  '"""\n[[hooks.PreToolUse]]\n"""',
);
const comment = fc.constantFrom('# note', '#', '# [[hooks.PreToolUse]]', '   # in');
const userHook = fc.constantFrom(
  ['[[hooks.PreToolUse]]', 'matcher = "Bash" # mine', '[[hooks.PreToolUse.hooks]]', 'type = "command"', `command = '''echo "[x"'''`],
  ['[[hooks.PreToolUse]]', 'hooks = [{ type = "command", command = "echo hook codex" }]'],
  ['[[hooks.PostToolUse]]', '[[hooks.PostToolUse.hooks]]', 'type = "command"', 'command = "say tollgate"'],
);
const table = fc.tuple(words, value).map(([name, said]) => [`[${name}_table] # of mine`, `key = ${said}`, '# inside', 'more = 2']);

/** Root keys, then tables, each once, with comments and blank lines anywhere between lines. */
const document = fc
  .record({
    roots: fc.uniqueArray(fc.tuple(words, value), { selector: ([name]) => name, maxLength: 3 }),
    tables: fc.uniqueArray(fc.oneof(table, userHook), { selector: ([header]) => header ?? '', maxLength: 3 }),
    between: fc.array(fc.constantFrom('', '', '\n', '# note\n', '\n\n', '# >>> mine\n'), { minLength: 8, maxLength: 8 }),
    end: fc.constantFrom('\n', '', '\n\n', '\n# the end\n', '\n# the end', '\n\n  # far\n\n'),
    newline: fc.constantFrom('\n', '\n', '\r\n'),
    mark: fc.constantFrom('', '', '', '\uFEFF'),
  })
  .map(({ roots, tables, between, end, newline, mark }) => {
    const parts = [...roots.map(([name, said]) => `${name} = ${said}`), ...tables.map((lines) => lines.join('\n'))];
    const body = parts.map((part, at) => `${at === 0 ? '' : (between[at] ?? '')}${part}`).join('\n');
    const text = parts.length === 0 ? end.trimStart() : `${body}${end}`;
    return mark + text.replaceAll(/\r?\n/g, newline);
  })
  .filter(isToml);

let made = 0;
const fresh = (): string => `made_${(made += 1)}`;

/** Inserts a line before the `at`th line of both that begins something of theirs, and is no line of a longer value. */
function beforeTheirs(line: string, at: number): Edit {
  return (worlds) => {
    const anchors = ['[alpha_table]', '[beta_table]', '[gamma_table]', 'alpha =', 'beta =', 'gamma ='];
    const found = anchors.filter((anchor) => worlds.theirs.split('\n').some((one) => one.startsWith(anchor)));
    const anchor = found[at % Math.max(found.length, 1)];
    if (anchor === undefined) return worlds;
    return both((text) =>
      text.replace(new RegExp(`(^|\\n)(${anchor.replaceAll(/[[\]]/g, '\\$&')})`), (_, start, rest) => `${start}${line}\n${rest}`),
    )(worlds);
  };
}

const hasBody = (text: string): boolean => /^\s*[^#\s]/m.test(text);

const edit: fc.Arbitrary<Edit> = fc.oneof(
  // Codex.
  fc.constant<Edit>((worlds) => {
    const name = fresh();
    return both((text) => codexAppends(text, [`[mcp_servers.${name}]`, 'command = "y"']))(worlds);
  }),
  fc.constant<Edit>((worlds) => both((text) => rewritten(text).replace(/(^|\n)alpha = 1\n/, '$1alpha = 77\n'))(worlds)),
  fc.constant(trustAll),
  // Its user, by hand.
  fc.tuple(comment, fc.nat(9)).map(([line, at]) => beforeTheirs(line, at)),
  fc.nat(9).map((at) => beforeTheirs('', at)),
  fc.constant<Edit>((worlds) => {
    const name = fresh();
    return hasBody(worlds.theirs) && worlds.theirs.endsWith('\n') && worlds.ours.endsWith('\n')
      ? both((text) => `${text}\n[${name}]\nz = 1 # theirs\n`)(worlds)
      : worlds;
  }),
  fc.constant(both((text) => text.replaceAll('more = 2', 'more = 3'))),
  // An editor on our lines, and another install.
  fc.constant(onlyOurs((text) => text.replaceAll(/ # of tollgate: [^\r\n]*/g, ''))),
  fc.constant(onlyOurs((text) => text.replaceAll(/^timeout = 10$/gm, '  timeout=10   # slow'))),
  fc.constant(onlyOurs((text) => text.replaceAll(/type = 'command'(\r?\n)(command = [^\r\n]*)/g, "$2$1type = 'command'"))),
  fc.constant(onlyOurs((text) => text.replaceAll(/(?<=10[^\n]*\n)(\[\[hooks\.PostToolUse\]\])/g, '\n$1'))),
  fc.constantFrom('', ' --host-version 0.170.0', ' --agent reviewer').map((more) => install(more)),
);

test('whatever was written in between, config.toml is in the end what it would be without us', () => {
  let [written, trusted, again] = [0, 0, 0];
  fc.assert(
    fc.property(document, fc.array(edit, { maxLength: 6 }), (text, edits) => {
      made = 0;
      const start = install()({ ours: text, theirs: text, made: [] });
      expect(placesIn(parseToml(start.ours)).filter(({ handler }) => isOurs(handler))).toHaveLength(2);
      expect(codex.remove(start.ours, start.made, { path })).toBe(text);
      const end = edits.reduce((worlds, change) => {
        const next = change(worlds);
        return isToml(next.ours) && isToml(next.theirs) ? next : worlds;
      }, start);
      expect(codex.remove(end.ours, end.made, { path })).toBe(end.theirs);
      written += Number(end.theirs.includes('mcp_servers'));
      trusted += Number(end.ours.includes('hooks.state'));
      again += Number(end.made.length > 2);
    }),
    { numRuns: 1_500 },
  );
  expect(Math.min(written, trusted, again)).toBeGreaterThan(150);
});

const mine = `model = "gpt-5.6"\n\n[features]\nhooks = true\n`;

describe('by versions before', () => {
  const block = [
    '# >>> tollgate: `tollgate hooks uninstall codex` removes this block',
    '[[hooks.PreToolUse]]',
    '[[hooks.PreToolUse.hooks]]',
    'type = "command"',
    `command = '"/usr/bin/node" "/opt/tollgate/bin.js" hook codex'`,
    'timeout = 10',
    '[[hooks.PostToolUse]]',
    '[[hooks.PostToolUse.hooks]]',
    'type = "command"',
    `command = '"/usr/bin/node" "/opt/tollgate/bin.js" hook codex'`,
    'timeout = 10',
    '# <<< tollgate',
    '',
  ].join('\n');

  test.each(['', mine])('a block between two comments comes out of %j with its comments, and what Codex wrote into it stays', (text) => {
    const gap = text === '' ? '' : '\n';
    expect(codex.remove(`${text}${gap}${block}`, [])).toBe(text);
    const server = ['[mcp_servers.x]', 'command = "y"'];
    const start = { ours: `${text}${gap}${block}`, theirs: text, made: [] };
    const { ours, theirs } = trustAll(both((one) => codexAppends(one, server))(start));
    expect(ours.indexOf('[mcp_servers.x]')).toBeLessThan(ours.indexOf('# <<< tollgate'));
    expect(codex.remove(ours, [], { path })).toBe(theirs);
  });

  test('a new install takes their place', () => {
    const { ours, made: kept } = install()({ ours: `${mine}\n${block}`, theirs: '', made: [] });
    expect(ours).not.toContain('>>> tollgate');
    expect(placesIn(parseToml(ours))).toHaveLength(2);
    expect(codex.remove(ours, kept, { path })).toBe(mine);
  });
});

describe('ours as somebody else wrote them', () => {
  const command = `'tollgate hook codex || exit 2'`;
  test.each([
    [
      'inline, alone',
      `a = 1\n[hooks]\nPreToolUse = [{ hooks = [{ type = "command", command = ${command} }] }]\n`,
      'a = 1\n[hooks]\nPreToolUse = []\n',
    ],
    [
      'inline, beside one of theirs',
      `hooks.PreToolUse = [{ hooks = [{ type = "command", command = "mine" }, { type = "command", command = ${command} }] }]\n`,
      'hooks.PreToolUse = [{ hooks = [{ type = "command", command = "mine" }] }]\n',
    ],
    [
      'in a group with one of theirs',
      `[[hooks.PreToolUse]]\nmatcher = ".*"\n[[hooks.PreToolUse.hooks]]\ntype = "command"\ncommand = "mine"\n[[hooks.PreToolUse.hooks]]\ncommand = ${command}\ntype = "command"\n# theirs\n`,
      '[[hooks.PreToolUse]]\nmatcher = ".*"\n[[hooks.PreToolUse.hooks]]\ntype = "command"\ncommand = "mine"\n# theirs\n',
    ],
    [
      'with quoted names, behind a text that looks like them',
      `a = """\n[[hooks.PreToolUse]]\n"""\n[[ "hooks" . 'PreToolUse' ]]\nhooks = [\n  { command = ${command}, type = "command" },\n]\n\n[b]\n`,
      'a = """\n[[hooks.PreToolUse]]\n"""\n\n[b]\n',
    ],
  ])('%s', (_, text, left) => {
    expect(codex.remove(text, [])).toBe(left);
  });
});

test('a hook that Codex was told to disable leaves no trace either, and what it keeps of others stays', () => {
  const others = `\n[hooks.state."/elsewhere/config.toml:pre_tool_use:0:0"]\ntrusted_hash = "sha256:00"\n`;
  const { ours, made: kept } = install()({ ours: mine, theirs: mine, made: [] });
  const off = `\n[hooks.state."${path}:pre_tool_use:0:0"]\nenabled = false\n`;
  expect(codex.remove(`${ours}${off}`, kept, { path })).toBe(mine);
  expect(codex.remove(`${ours}\n[hooks.state]\n${off}${others}`, kept, { path })).toBe(`${mine}\n[hooks.state]\n${others}`);
});
