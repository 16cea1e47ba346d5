// Hooks in the settings of Codex: install, use, edit by hand, let Codex write, uninstall. Each document goes through
// the same steps twice, with our hooks and without. Both results must be equal, byte for byte.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isRow } from '../../cli/api/answer.ts';
import { hookHash, stateKey, type Trust, trustOf } from '../../cli/hooks/codex-trust.ts';
import { isOurs as isOurHandler } from '../../cli/hooks/handler.ts';
import { hostSettings } from '../../cli/hooks/host-settings.ts';
import { type Place, placesIn, statesIn } from '../../cli/hooks/hook-places.ts';
import { casesOf } from '../support/case-count.ts';
import { isToml, parseToml } from '../../cli/hooks/edit-toml.ts';

const { codex } = hostSettings;
const path = '/home/ann/.codex/config.toml';
const names = [path];
const way = (more = '') => ({ kind: 'command', command: `"/usr/bin/node" "/opt/tollgate/bin.js" hook codex${more}` }) as const;

/** The document in both variants. `made`: the data that install keeps. */
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
    const edit = codex.add(ours, way(more), { made, names });
    return { ours: edit.text, theirs, made: [...made, ...edit.made] };
  };

const isOurs = (handler: unknown): boolean => isOurHandler('codex', handler);

/** Appends as toml_edit writes a new table: after the last table with content, every line with \n alone. */
function codexAppends(text: string, table: readonly string[]): string {
  if (text.startsWith('\uFEFF')) return `\uFEFF${codexAppends(text.slice(1), table)}`;
  const lines = text.replaceAll('\r\n', '\n').split('\n');
  const last = lines.findLastIndex((line) => !/^\s*(?:#|$)/.test(line));
  const body = lines.slice(0, last + 1);
  const rest = lines.slice(last + 1).join('\n');
  const block = [...(body.length === 0 ? [] : ['']), ...table];
  return `${[...body, ...block].join('\n')}\n${rest}`;
}

const commandOf = ({ handler }: Place): string => (isRow(handler) ? String(handler['command']) : '');
/** In an order that does not depend on hooks of another event. */
const placesOf = (text: string): readonly Place[] =>
  placesIn(parseToml(text)).toSorted((one, other) => (one.event < other.event ? -1 : Number(one.event > other.event)));
const stateOf = (text: string, place: Place): unknown => statesIn(parseToml(text))[stateKey(path, place)];

/** The user's choice in Codex for a hook: the same in both variants. */
function chosenFor(place: Place): readonly string[] {
  const hash = `trusted_hash = "${hookHash(place)}"`;
  return commandOf(place).includes('off') ? ['enabled = false', hash] : commandOf(place).includes('never') ? ['enabled = false'] : [hash];
}

/** Codex records the user's choice for each hook that has no state yet. */
function withTrust(text: string): string {
  const fresh = placesOf(text).filter((place) => stateOf(text, place) === undefined);
  if (fresh.length === 0) return text;
  const tables = fresh.flatMap((place) => ['', `[hooks.state."${stateKey(path, place)}"]`, ...chosenFor(place)]);
  return codexAppends(text, hasStates(text) ? tables.slice(1) : ['[hooks.state]', ...tables]);
}
const hasStates = (text: string): boolean => /^\[hooks\.state\]/m.test(text);

const trustAll: Edit = ({ ours, theirs, made }) => {
  const withTheirs = withTrust(theirs);
  // Where Codex wrote its first table for our hooks alone, the text does not show where it would have written it later.
  if (hasStates(ours) !== hasStates(theirs)) return { ours, theirs, made };
  const withOurs = withTrust(ours);
  // A file that is not written keeps its line ends.
  const isWritten = withOurs !== ours;
  return { ours: withOurs, theirs: isWritten && withTheirs === theirs ? rewritten(theirs) : withTheirs, made };
};
const rewritten = (text: string): string => {
  const plain = text.replaceAll('\r\n', '\n');
  // Codex does not require this after a last line that is a comment.
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
/** Hooks are distinguished by their commands, and by the user's choice for them. */
const hookLines = (event: string, commands: readonly string[], form: 'tables' | 'list' | 'matcher'): readonly string[] => {
  const header = `[[hooks.${event}]]`;
  if (form === 'list') return [header, `hooks = [${commands.map((one) => `{ type = "command", command = '${one}' }`).join(', ')}]`];
  const handlers = commands.flatMap((one) => [`[[hooks.${event}.hooks]]`, 'type = "command"', `command = '''${one}'''`]);
  return [header, ...(form === 'matcher' ? ['matcher = "Bash" # mine'] : []), ...handlers];
};
const userHook = fc
  .record({
    event: fc.constantFrom('PreToolUse', 'PreToolUse', 'PostToolUse', 'Stop'),
    commands: fc.array(fc.constantFrom('echo hook codex', 'say tollgate', 'echo "[off"', 'never'), { minLength: 1, maxLength: 2 }),
    form: fc.constantFrom('tables', 'list', 'matcher'),
  })
  .map(
    ({ event, commands, form }) =>
      (name: string) =>
        hookLines(
          event,
          commands.map((one, at) => `${one} ${name} ${at}`),
          form,
        ),
  );
const table = fc.tuple(words, value).map(([name, said]) => [`[${name}_table] # of mine`, `key = ${said}`, '# inside', 'more = 2']);

/** Root keys, then tables, each once, with comments and blank lines anywhere between lines. */
const document = fc
  .record({
    roots: fc.uniqueArray(fc.tuple(words, value), { selector: ([name]) => name, maxLength: 3 }),
    tables: fc.uniqueArray(table, { selector: ([header]) => header ?? '', maxLength: 2 }),
    before: fc.array(userHook, { maxLength: 2 }),
    between: fc.array(fc.constantFrom('', '', '\n', '# note\n', '\n\n', '# >>> mine\n'), { minLength: 8, maxLength: 8 }),
    end: fc.constantFrom('\n', '', '\n\n', '\n# the end\n', '\n# the end', '\n\n  # far\n\n'),
    newline: fc.constantFrom('\n', '\n', '\r\n'),
    mark: fc.constantFrom('', '', '', '\uFEFF'),
  })
  .map(({ roots, tables, before, between, end, newline, mark }) => {
    const hooks = before.map((linesOf, at) => linesOf(`before ${at}`).join('\n'));
    const parts = [...roots.map(([name, said]) => `${name} = ${said}`), ...tables.map((lines) => lines.join('\n')), ...hooks];
    const body = parts.map((part, at) => `${at === 0 ? '' : (between[at] ?? '')}${part}`).join('\n');
    const text = parts.length === 0 ? end.trimStart() : `${body}${end}`;
    return mark + text.replaceAll(/\r?\n/g, newline);
  })
  .filter(isToml);

let made = 0;
const fresh = (): string => `made_${(made += 1)}`;

/**
 * Inserts a line into both variants before the `at`th line that begins a user's item, and that is not part of a longer
 * value.
 */
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

const addHook =
  (linesOf: (name: string) => readonly string[]): Edit =>
  (worlds) => {
    const name = fresh();
    return both((text) => codexAppends(text, linesOf(name)))(worlds);
  };

const edit: fc.Arbitrary<Edit> = fc.oneof(
  // Codex.
  fc.constant<Edit>((worlds) => {
    const name = fresh();
    return both((text) => codexAppends(text, [`[mcp_servers.${name}]`, 'command = "y"']))(worlds);
  }),
  fc.constant<Edit>((worlds) => both((text) => rewritten(text).replace(/(^|\n)alpha = 1\n/, '$1alpha = 77\n'))(worlds)),
  fc.constant(trustAll),
  // Codex's user, by hand.
  fc.tuple(comment, fc.nat(9)).map(([line, at]) => beforeTheirs(line, at)),
  fc.nat(9).map((at) => beforeTheirs('', at)),
  fc.constant<Edit>((worlds) => {
    const name = fresh();
    return hasBody(worlds.theirs) && worlds.theirs.endsWith('\n') && worlds.ours.endsWith('\n')
      ? both((text) => `${text}\n[${name}]\nz = 1 # theirs\n`)(worlds)
      : worlds;
  }),
  fc.constant(both((text) => text.replaceAll('more = 2', 'more = 3'))),
  // Another hook, after ours; then Codex asks for trust.
  userHook.map((linesOf) => addHook(linesOf)),
  userHook.map<Edit>((linesOf) => (worlds) => trustAll(addHook(linesOf)(worlds))),
  // An editor changes our lines, and then another install.
  fc.constant(onlyOurs((text) => text.replaceAll(/ # of tollgate: [^\r\n]*/g, ''))),
  fc.constant(onlyOurs((text) => text.replaceAll(/^timeout = 10$/gm, '  timeout=10   # slow'))),
  fc.constant(onlyOurs((text) => text.replaceAll(/type = 'command'(\r?\n)(command = [^\r\n]*)/g, "$2$1type = 'command'"))),
  fc.constant(onlyOurs((text) => text.replaceAll(/(?<=10[^\n]*\n)(\[\[hooks\.PostToolUse\]\])/g, '\n$1'))),
  fc.constantFrom('', ' --host-version 0.170.0', ' --agent reviewer').map((more) => install(more)),
);

/** The state that Codex derives for each hook of the user, by its command. */
const trustsOf = (text: string): ReadonlyMap<string, Trust> => {
  const states = statesIn(parseToml(text));
  const others = placesOf(text).filter(({ handler }) => !isOurs(handler));
  return new Map(others.map((place) => [commandOf(place), trustOf(states, names, place)]));
};

test('whatever was written in between, config.toml is at the end what it would be without our hooks, and each hook keeps its own trust', () => {
  let [written, trusted, again, behind] = [0, 0, 0, 0];
  fc.assert(
    fc.property(document, fc.array(edit, { maxLength: 6 }), (text, edits) => {
      made = 0;
      const start = install()({ ours: text, theirs: text, made: [] });
      expect(placesIn(parseToml(start.ours)).filter(({ handler }) => isOurs(handler))).toHaveLength(2);
      expect(codex.remove(start.ours, start.made, { names })).toBe(text);
      const end = edits.reduce((worlds, change) => {
        const next = change(worlds);
        if (!isToml(next.ours) || !isToml(next.theirs)) return worlds;
        expect(trustsOf(next.ours)).toEqual(trustsOf(next.theirs));
        return next;
      }, start);
      expect(codex.remove(end.ours, end.made, { names })).toBe(end.theirs);
      written += Number(end.theirs.includes('mcp_servers'));
      trusted += Number(end.ours.includes('hooks.state'));
      again += Number(end.made.length > 2);
      behind += Number(hasStates(end.theirs) && movesAnother(end.ours));
    }),
    { numRuns: casesOf(1_500) },
  );
  expect(Math.min(written, trusted, again, behind)).toBeGreaterThan(casesOf(1_500) / 10);
});

/** Whether a hook with its own state follows ours. */
const movesAnother = (text: string): boolean =>
  placesOf(text).some((place, at, all) => {
    const isBehind = all.slice(0, at).some(({ event, handler }) => event === place.event && isOurs(handler));
    return isBehind && !isOurs(place.handler) && stateOf(text, place) !== undefined;
  });

test('in a folder the same holds, with what Codex stores in the settings of the user', () => {
  const own = '/home/ann/.codex/config.toml';
  const folder = '/home/ann/work/.codex/config.toml';
  const elsewhere = (text: string): readonly string[] => placesOf(text).map((place) => `"${stateKey(own, place)}" = { enabled = false }`);
  const settingsIn = (form: 'tables' | 'lines' | 'inline') => (theirs: string, text: string) => {
    const states = placesOf(text).map((place) => [stateKey(folder, place), chosenFor(place)] as const);
    const pairs = states.map(([key, chosen]) => `'${key}' = { ${chosen.join(', ')} }`);
    if (form === 'inline') return `[hooks]\nstate = { ${[...elsewhere(theirs), ...pairs].join(', ')} }\n`;
    const lines = form === 'lines' ? pairs : states.flatMap(([key, chosen]) => ['', `[hooks.state.'${key}'] # kept`, ...chosen]);
    return ['[hooks.state]', ...elsewhere(theirs), ...lines, ''].join('\n');
  };
  const forms = fc.constantFrom('tables', 'lines', 'inline');
  fc.assert(
    fc.property(document, fc.array(userHook, { minLength: 1, maxLength: 3 }), forms, fc.boolean(), (text, hooks, form, again) => {
      const append = (one: string): string => hooks.reduce((left, linesOf, at) => codexAppends(left, linesOf(`behind ${at}`)), one);
      const first = codex.add(text, way(), { names: [folder] });
      const theirs = append(text);
      const ours = append(first.text);
      const settings = (one: string): string => settingsIn(form)(theirs, one);
      let [hooksNow, statesNow, made] = [ours, settings(ours), first.made];
      const named = { names: [folder], text: ours };
      if (again) {
        const edit = codex.add(ours, way(' --agent reviewer'), { names: [folder], made });
        statesNow = codex.follow?.(statesNow, { ...named, made, isReplaced: true }) ?? '';
        [hooksNow, made] = [edit.text, [...made, ...edit.made]];
        expect(statesNow).toBe(settings(ours));
      }
      expect(codex.follow?.(statesNow, { ...named, text: hooksNow, made, isReplaced: false })).toBe(settings(theirs));
      expect(codex.remove(hooksNow, made, { names: [folder] })).toBe(theirs);
    }),
    { numRuns: casesOf(500) },
  );
});

const mine = `model = "gpt-5.6"\n\n[features]\nhooks = true\n`;

test('one blank line is removed with all our tables, whatever the user put before them', () => {
  const { text, made } = codex.add(mine, way());
  const wider = text.replace('\n[[hooks.PreToolUse]]', '\n\n\n[[hooks.PreToolUse]]');
  expect(codex.remove(wider, made)).toBe(`${mine}\n\n`);
});

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

  test.each(['', mine])('a block between two comments is removed from %j with its comments, and what Codex wrote into it stays', (text) => {
    const gap = text === '' ? '' : '\n';
    expect(codex.remove(`${text}${gap}${block}`, [])).toBe(text);
    const server = ['[mcp_servers.x]', 'command = "y"'];
    const start = { ours: `${text}${gap}${block}`, theirs: text, made: [] };
    const { ours, theirs } = trustAll(both((one) => codexAppends(one, server))(start));
    expect(ours.indexOf('[mcp_servers.x]')).toBeLessThan(ours.indexOf('# <<< tollgate'));
    expect(codex.remove(ours, [], { names })).toBe(theirs);
  });

  test.each(['', '\n', mine, `${mine}\n`, `${mine}\n\n`, `${mine}# note\n\n`])('a new install keeps the blank lines of %j', (text) => {
    const upgraded = codex.add(`${text}${text === '' ? '' : '\n'}${block}`, way());
    const again = codex.add(upgraded.text, way(' --agent ann'), { made: upgraded.made });
    expect(codex.remove(again.text, [...upgraded.made, ...again.made])).toBe(text);
  });

  test('a new install replaces them in place', () => {
    const { ours, made: kept } = install()({ ours: `${mine}\n${block}`, theirs: '', made: [] });
    expect(ours).not.toContain('>>> tollgate');
    expect(placesIn(parseToml(ours))).toHaveLength(2);
    expect(codex.remove(ours, kept, { names })).toBe(mine);
  });
});

describe('our hooks as another program wrote them', () => {
  const command = `'tollgate hook codex || exit 2'`;
  test.each([
    [
      'inline, alone',
      `a = 1\n[hooks]\nPreToolUse = [{ hooks = [{ type = "command", command = ${command} }] }]\n`,
      'a = 1\n[hooks]\nPreToolUse = []\n',
    ],
    [
      'inline, next to one of theirs',
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

test.each([
  [
    'inline, next to one of theirs',
    (ours: string) => `hooks.PreToolUse = [{ hooks = [{ type = "command", command = "mine" }, ${ours}] }] # why\n`,
  ],
  ['in a list of a table', (ours: string) => `[[hooks.PreToolUse]] # here\nhooks = [ { command = "mine", type = "command" }, ${ours} ]\n`],
])('another install replaces ours in place: %s', (_, written) => {
  const post = `[[hooks.PostToolUse]]\n[[hooks.PostToolUse.hooks]]\ntype = 'command'\ncommand = 'tollgate hook codex'\ntimeout = 10\n`;
  const before = `${written(`{ command = 'tollgate hook codex', type = "command" }`)}${post}`;
  const command = `'"/usr/bin/node" "/opt/tollgate/bin.js" hook codex || exit 2'`;
  const { text } = codex.add(before, way(), { names });
  expect(text.split('\n[[hooks.PostToolUse]]')[0]).toBe(written(`{ type = 'command', command = ${command}, timeout = 10 }`).trimEnd());
  expect(placesOf(text)).toHaveLength(3);
});

describe('keys of hooks after ours follow them', () => {
  const inTable = (said: string): string => `[[hooks.PreToolUse]]\nhooks = [${said}]\n`;
  const [ours, theirs] = [`{ type = "command", command = 'tollgate hook codex' }`, `{ type = "command", command = 'mine' }`];
  const key = (group: number, file = '/a'): string => `"${file}:pre_tool_use:${group}:0"`;
  test.each([
    [
      'past groups that are empty, with what is kept of those',
      `${inTable(ours)}[[hooks.PreToolUse]]\n${inTable(theirs)}[hooks.state]\n${key(1)} = { enabled = false }\n${key(2)} = { enabled = true }\n`,
      `[[hooks.PreToolUse]]\n${inTable(theirs)}[hooks.state]\n${key(0)} = { enabled = false }\n${key(1)} = { enabled = true }\n`,
    ],
    [
      'by each name of the file, and no other',
      `${inTable(ours)}${inTable(theirs)}[hooks.state]\n${key(1)}.enabled = true\n${key(0, '/b')}.enabled = false\n${key(1, '/b')}.enabled = true\n${key(1, '/c')}.enabled = true\n`,
      `${inTable(theirs)}[hooks.state]\n${key(0)}.enabled = true\n${key(0, '/b')}.enabled = true\n${key(1, '/c')}.enabled = true\n`,
    ],
    [
      'where all hooks are one inline table',
      `hooks = { PreToolUse = [{ hooks = [${ours}] }, { hooks = [${theirs}] }], state = { ${key(0)} = { enabled = true }, ${key(1)} = { enabled = false } } }\n`,
      `hooks = { PreToolUse = [{ hooks = [${theirs}] }], state = { ${key(0)} = { enabled = false } } }\n`,
    ],
    [
      'and nothing that only looks like them',
      `d = ${key(1)}\n${key(1)} = 1 # ${key(1)}\n[other.state.${key(1)}]\nb = 1\n[hooks.state.${key(1)}]\nenabled = false\n${inTable(ours)}${inTable(theirs)}`,
      `d = ${key(1)}\n${key(1)} = 1 # ${key(1)}\n[other.state.${key(1)}]\nb = 1\n[hooks.state.${key(0)}]\nenabled = false\n${inTable(theirs)}`,
    ],
  ])('%s', (_, text, left) => {
    expect(codex.remove(text, [], { names: ['/a', '/b'] })).toBe(left);
  });

  test('our comment is removed, and a similar text stays', () => {
    const mark = '# of tollgate: `tollgate hooks uninstall codex` takes it out';
    const text = `a = """\n[[hooks.PreToolUse]] ${mark}\n"""\n`;
    const header = `[[hooks.PreToolUse]]   ${mark}\n${mark}\n`;
    expect(codex.remove(`${text}${header}hooks = [${ours}, ${theirs}]\n`, [])).toBe(`${text}${inTable(theirs)}`);
  });
});

test('a hook that Codex was ordered to disable leaves no trace either, and its state of other hooks stays', () => {
  const others = `\n[hooks.state."/elsewhere/config.toml:pre_tool_use:0:0"]\ntrusted_hash = "sha256:00"\n`;
  const { ours, made: kept } = install()({ ours: mine, theirs: mine, made: [] });
  const off = `\n[hooks.state."${path}:pre_tool_use:0:0"]\nenabled = false\n`;
  expect(codex.remove(`${ours}${off}`, kept, { names })).toBe(mine);
  expect(codex.remove(`${ours}\n[hooks.state]\n${off}${others}`, kept, { names })).toBe(`${mine}\n[hooks.state]\n${others}`);
});
