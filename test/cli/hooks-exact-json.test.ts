// Hooks in JSON settings: install, use, edit by hand, let the host write, uninstall. Each document goes through the
// same steps twice, with our hooks and without. Both results must be equal, byte for byte. jsonc-parser edits the
// documents, and JSON.stringify where a host writes.
import type { HostName } from '@tollgate/proto/contract';
import fc from 'fast-check';
import { applyEdits, findNodeAtLocation, type JSONPath, modify, type Node, parse, parseTree } from 'jsonc-parser';
import { describe, expect, test } from 'vitest';
import { casesOf } from '../support/case-count.ts';
import { hostSettings } from '../../cli/hooks/host-settings.ts';

interface Worlds {
  readonly ours: string;
  readonly theirs: string;
  readonly made: readonly string[];
}

type Edit = (worlds: Worlds) => Worlds;
/** An edit that would differ between the two documents is skipped. */
const both =
  (change: (text: string) => string | null): Edit =>
  (worlds) => {
    const [ours, theirs] = [change(worlds.ours), change(worlds.theirs)];
    return ours === null || theirs === null ? worlds : { ...worlds, ours, theirs };
  };

const events: Readonly<Record<string, readonly [before: string, after: string]>> = {
  'claude-code': ['PreToolUse', 'PostToolUse'],
  cursor: ['preToolUse', 'postToolUse'],
  'gemini-cli': ['BeforeTool', 'AfterTool'],
  'copilot-cli': ['preToolUse', 'postToolUse'],
};

const rootOf = (text: string): Node | undefined => parseTree(text.replace(/^\uFEFF/, ' '), [], { allowTrailingComma: true });
const nodeAt = (text: string, path: JSONPath): Node | undefined => {
  const root = rootOf(text);
  return root === undefined ? undefined : path.length === 0 ? root : findNodeAtLocation(root, path);
};
/** The line end of the person who types. */
let newline = '\n';
const insert = (text: string, at: number, more: string): string => text.slice(0, at) + more + text.slice(at);

/** Inserts into a line of its own after the last element, as a person types it. */
function typeBehind(text: string, container: Node, element: string): string | null {
  const last = container.children?.at(-1);
  if (last === undefined) return null;
  const end = last.offset + last.length;
  const [, comma = '', said = ''] = /^(\s*,)?([ \t]*(?:\/\/[^\r\n]*|\/\*[^\r\n]*?\*\/))?/.exec(text.slice(end)) ?? [];
  const line = `${newline}  ${element}${comma === '' ? '' : ','}`;
  return insert(
    comma === '' ? insert(text, end + said.length, line) : insert(text, end + comma.length + said.length, line),
    end,
    comma === '' ? ',' : '',
  );
}

/** Before the first element, in a line of its own. */
function typeBefore(text: string, container: Node, element: string): string | null {
  const first = container.children?.[0];
  return first === undefined ? null : insert(text, first.offset, `${element},${newline}  `);
}

const member = (name: string): string => `${JSON.stringify(name)}: {"by": "hand"}`;

/** JSON as people write it. */
const space = fc.constantFrom('', '', ' ', '\n', '\n  ', '\n    ', '\n  // note\n  ', ' /* c */ ', '\n\n\t');
const plain = fc.constantFrom('1', 'true', 'null', '"a"', '"//"', '"[{,"', '[]', '{}', '{ "deep": [1, 2,] }', '[\n  "x" // y\n]');

const handlerOf = (host: string, command: string): string =>
  host === 'cursor' || host === 'copilot-cli'
    ? `{ "command": ${JSON.stringify(command)} }`
    : `{ "matcher": "Bash", "hooks": [{ "type": "command", "command": ${JSON.stringify(command)} }] }`;

const listOf = (host: string) =>
  fc
    .tuple(fc.array(fc.constantFrom('./mine.sh', 'say tollgate hook', 'echo hook codex'), { maxLength: 2 }), space, space, fc.boolean())
    .map(
      ([commands, before, behind, comma]) =>
        `[${commands.map((one) => `${before}${handlerOf(host, one)}`).join(',')}${comma && commands.length > 0 ? ',' : ''}${behind}]`,
    );

const hooksOf = (host: string) =>
  fc
    .tuple(
      fc.subarray([events[host]?.[0] ?? '', events[host]?.[1] ?? '', 'stop']),
      fc.array(listOf(host), { minLength: 3, maxLength: 3 }),
      space,
      space,
    )
    .map(([names, lists, before, behind]) => `{${names.map((name, at) => `${before}"${name}": ${lists[at] ?? '[]'}`).join(',')}${behind}}`);

const document = (host: string) =>
  fc
    .record({
      names: fc.uniqueArray(fc.constantFrom('model', 'permissions', 'a', 'version', 'hooks'), { maxLength: 4 }),
      values: fc.array(plain, { minLength: 4, maxLength: 4 }),
      hooks: hooksOf(host),
      before: space,
      behind: space,
      comma: fc.boolean(),
      newline: fc.constantFrom('\n', '\n', '\r\n'),
      mark: fc.constantFrom('', '', '\uFEFF'),
      end: fc.constantFrom('', '\n', '\n\n', '\n// the end\n', ' /* end */'),
    })
    .map(({ names, values, hooks, before, behind, comma, newline, mark, end }) => {
      const members = names.map((name, at) => `${before}"${name}": ${name === 'hooks' ? hooks : name === 'version' ? '1' : values[at]}`);
      const text = `{${members.join(',')}${comma && members.length > 0 ? ',' : ''}${behind}}${end}`;
      return mark + text.replaceAll('\n', newline);
    });

let count = 0;
const fresh = (): string => `made${(count += 1)}`;

const own = ['model', 'permissions', 'a'];

function edits(host: HostName): fc.Arbitrary<Edit> {
  const [before] = events[host] ?? ['', ''];
  const install =
    (more: string): Edit =>
    ({ ours, theirs, made }) => {
      const settings = hostSettings[host];
      const edit = settings.add(ours, wayOf(host, more), { made });
      return { ours: edit.text, theirs, made: [...new Set([...made, ...edit.made])] };
    };
  const rewritten = (indent: string | number): Edit =>
    both((text) => `${JSON.stringify(parse(text.replace(/^\uFEFF/, ''), [], { allowTrailingComma: true }), null, indent)}\n`);
  return fc.oneof(
    // The host, or an editor, writes the whole file.
    fc.constantFrom(2, '\t', 0).map(rewritten),
    fc.constant<Edit>((worlds) => {
      const name = fresh();
      return both((text) => {
        const value: unknown = parse(text.replace(/^\uFEFF/, ''), [], { allowTrailingComma: true });
        return `${JSON.stringify({ ...Object(value), [name]: true }, null, 2)}\n`;
      })(worlds);
    }),
    // By hand, or by a program that edits text.
    fc.constant<Edit>((worlds) => {
      const name = fresh();
      return both((text) => typeBehind(text, rootOf(text) ?? fail(), member(name)))(worlds);
    }),
    fc.constant<Edit>((worlds) => {
      const name = fresh();
      const [first, other] = [worlds.ours, worlds.theirs].map((text) => rootOf(text)?.children?.[0]?.children?.[0]?.value);
      const isTheirs = first !== undefined && first === other;
      return isTheirs ? both((text) => typeBefore(text, rootOf(text) ?? fail(), member(name)))(worlds) : worlds;
    }),
    fc.tuple(fc.constantFrom(...own), plain).map(([name, value]) =>
      both((text) => {
        const node = nodeAt(text, [name]);
        return node === undefined ? null : text.slice(0, node.offset) + value + text.slice(node.offset + node.length);
      }),
    ),
    fc.constantFrom(...own).map<Edit>((name) => (worlds) => {
      const members = rootOf(worlds.theirs)?.children?.length ?? 0;
      return members < 2
        ? worlds
        : both((text) =>
            nodeAt(text, [name]) === undefined ? null : applyEdits(text, modify(text.replace(/^\uFEFF/, ' '), [name], undefined, {})),
          )(worlds);
    }),
    fc.tuple(fc.constantFrom(...own), fc.constantFrom('// by hand', '/* by hand */', '')).map(([name, said]) =>
      both((text) => {
        const node = nodeAt(text, [name])?.parent;
        return node === undefined ? null : insert(text, node.offset, `${said}${newline}  `);
      }),
    ),
    fc.constantFrom(typeBehind, typeBefore).map((type) =>
      both((text) => {
        const list = nodeAt(text, ['hooks', before]);
        const isTheirs =
          list?.children?.[0] !== undefined &&
          !/bin\.js/.test(text.slice(list.offset, (list.children[0].offset ?? 0) + list.children[0].length));
        return list === undefined || !isTheirs ? null : type(text, list, handlerOf(host, './later.sh'));
      }),
    ),
    fc.constantFrom('\n', '\n// behind\n', ' ').map((end) => both((text) => text + end)),
    fc.constantFrom('', ' --host-version 2.1.330', ' --agent reviewer').map(install),
  );
}

const fail = (): never => {
  throw new Error('the text is no JSON');
};

const wayOf = (host: HostName, more: string) =>
  ({ kind: 'command', command: `"/usr/bin/node" "/opt/tollgate/bin.js" hook ${host}${more}` }) as const;

describe.each(['claude-code', 'cursor', 'gemini-cli', 'copilot-cli'] as const)('%s', (host) => {
  const settings = hostSettings[host];

  test('whatever was written in between, the settings are at the end what they would be without our hooks', () => {
    let [rewritten, byHand, changed] = [0, 0, 0];
    fc.assert(
      fc.property(document(host), fc.array(edits(host), { maxLength: 6 }), (text, changes) => {
        count = 0;
        newline = text.includes('\r\n') ? '\r\n' : '\n';
        const { text: installed, made } = settings.add(text, wayOf(host, ''));
        expect(settings.installed(installed)).not.toBeNull();
        expect(settings.remove(installed, made)).toBe(text);
        const start: Worlds = { ours: installed, theirs: text, made };
        const end = changes.reduce((worlds, change) => change(worlds), start);
        expect(settings.remove(end.ours, end.made)).toBe(end.theirs);
        rewritten += Number(end.theirs.includes('made1": true'));
        byHand += Number(end.theirs.includes('by hand'));
        changed += Number(end.theirs !== text);
      }),
      { numRuns: casesOf(1_000) },
    );
    expect(Math.min(rewritten, byHand, changed)).toBeGreaterThan(casesOf(1_000) / 100);
  });

  test.each(['', '\n', ' \n\t', '\uFEFF'])('a file that holds only %j holds the same at the end', (text) => {
    const { text: installed, made } = settings.add(text, wayOf(host, ''));
    expect(settings.remove(installed, made)).toBe(text);
    expect(settings.remove(JSON.stringify(JSON.parse(installed.replace('\uFEFF', ''))), made)).toBe(text);
  });
});
