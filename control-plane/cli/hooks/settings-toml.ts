// The hooks that Codex reads from config.toml: a table of ours at the end of each event's list, behind the last line that
// says something, which is where Codex itself puts new tables. TOML lets tables of a list be added there, unless the file says
// `hooks` in another form; such a file is refused with the place. Ours are found by what the file says, however it is written,
// and taken out line by line, so that what Codex, an editor or its user wrote between and behind them stays.
import { isRow, type Row } from '../answer.ts';
import { BadSettings, unprovenEdit } from './bad-settings.ts';
import { withoutInline } from './toml-inline.ts';
import { isBlank, isToml, linesOf, parseToml, says, withoutTable } from './toml.ts';

/** Around our tables, in versions before 2026-11. */
const oldMarks = ['# >>> tollgate: `tollgate hooks uninstall codex` removes this block', '# <<< tollgate'];

const headMark = ' # of tollgate: `tollgate hooks uninstall codex` takes it out';
const byteOrderMark = '\uFEFF';

export interface Handler {
  readonly type: 'command';
  readonly command: string;
  readonly timeout: number;
}

export type Tables = readonly (readonly [event: string, handler: Handler])[];

export function addTables(text: string, tables: Tables): string {
  if (text.startsWith(byteOrderMark)) return byteOrderMark + addTables(text.slice(1), tables);
  const before = parseToml(text);
  const [body, rest] = splitBehind(text);
  const edited = joined(body, rest, tables);
  if (says(edited, withTables(before, tables))) return edited;
  throw inAnotherForm(text, tables);
}

/** The lines up to the last that says something, and the comments and blanks behind. */
function splitBehind(text: string): readonly [string, string] {
  const lines = linesOf(text);
  const last = lines.findLastIndex((line) => !/^\s*(?:#|$)/.test(line));
  return [lines.slice(0, last + 1).join(''), lines.slice(last + 1).join('')];
}

function joined(body: string, rest: string, tables: Tables): string {
  const newline = `${body}${rest}`.includes('\r\n') ? '\r\n' : '\n';
  const ours = tables.flatMap(([event, handler]) => linesFor(event, handler)).join(newline);
  if (body === '') return `${ours}${newline}${isBlank(linesOf(rest)[0]) ? newline : ''}${rest}`;
  // A last line without a newline: then ours has none either.
  return body.endsWith('\n') ? `${body}${newline}${ours}${newline}${rest}` : `${body}${newline}${ours}`;
}

const linesFor = (event: string, { type, command, timeout }: Handler): readonly string[] => [
  `[[hooks.${event}]]${headMark}`,
  `[[hooks.${event}.hooks]]`,
  `type = ${quoteToml(type)}`,
  `command = ${quoteToml(command)}`,
  `timeout = ${timeout}`,
];

function withTables(before: Row, tables: Tables): Row {
  const hooks: Record<string, unknown> = { ...(isRow(before['hooks']) ? before['hooks'] : {}) };
  for (const [event, handler] of tables) {
    const list = hooks[event];
    hooks[event] = [...(Array.isArray(list) ? list : []), { hooks: [handler] }];
  }
  return { ...before, hooks };
}

/** With the line that our tables cannot be added behind: of those that name hooks the last before which they can. */
function inAnotherForm(text: string, tables: Tables): BadSettings {
  const words = 'hooks are written here in a form that tables cannot be added to; write them as [[hooks.PreToolUse]]';
  const lines = linesOf(text);
  let [at, found] = [0, 0];
  for (const line of lines) {
    const before = text.slice(0, at);
    if (/hooks|ToolUse/.test(line) && isToml(before) && says(joined(before, '', tables), withTables(parseToml(before), tables))) found = at;
    at += line.length;
  }
  return new BadSettings(text, found, words);
}

export interface Ours {
  readonly isOurs: (handler: unknown) => boolean;
  /** Whether what Codex keeps of a hook, under this key, is of one of ours. */
  readonly isOurState: (key: string, state: unknown) => boolean;
}

/** Takes out every handler of ours, what Codex keeps of it, and the comments around. */
export function removeTables(text: string, { isOurs, isOurState }: Ours): string {
  if (text.startsWith(byteOrderMark)) return byteOrderMark + removeTables(text.slice(1), { isOurs, isOurState });
  let edited = removeStates(text, isOurState);
  for (;;) {
    const place = placesIn(parseToml(edited)).find(({ handler }) => isOurs(handler));
    if (place === undefined) return tidied(edited);
    edited = withoutHandler(edited, place);
  }
}

export interface Place {
  readonly event: string;
  readonly group: number;
  readonly at: number;
  readonly handler: unknown;
  /** The table that it stands in. */
  readonly table: Row;
}

/** Every handler, in the order of the file's lists. */
export function placesIn(root: Row): readonly Place[] {
  const hooks = root['hooks'];
  if (!isRow(hooks)) return [];
  return Object.entries(hooks).flatMap(([event, groups]) =>
    listed(groups).flatMap((table, group) =>
      isRow(table) ? listed(table['hooks']).map((handler, at) => ({ event, group, at, handler, table })) : [],
    ),
  );
}

const listed = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

function withoutHandler(text: string, place: Place): string {
  const said = parseToml(text);
  const wanted = withoutPlace(said, place);
  const isAlone = listed(place.table['hooks']).length === 1;
  const left = withoutTable(text, isAlone ? isHeaderOf(place.event) : isHeaderOf(place.event, 'hooks'), wanted);
  const edited = left ?? withoutInline(text, commandIn(place.handler), wanted);
  if (edited === null) throw unprovenEdit(text, placeOfCommand(text), `hooks.${place.event}`);
  return edited;
}

const commandIn = (handler: unknown): string => (isRow(handler) && typeof handler['command'] === 'string' ? handler['command'] : '');

const placeOfCommand = (text: string): number => Math.max(0, text.search(/hook codex/));

const isHeaderOf = (...names: readonly string[]) => {
  const keys = names.map((name) => `\\s*\\.\\s*["']?${name}["']?`).join('');
  const header = new RegExp(`^\\s*\\[\\[\\s*["']?hooks["']?${keys}\\s*\\]\\]`);
  return (line: string): boolean => header.test(line);
};

/** A table that is left with nothing to do goes too. */
function withoutPlace(root: Row, { event, group, at }: Place): Row {
  const hooks = isRow(root['hooks']) ? root['hooks'] : {};
  const groups = listed(hooks[event]).flatMap((table, index) => {
    if (index !== group || !isRow(table)) return [table];
    const others = listed(table['hooks']).filter((_, one) => one !== at);
    return others.length === 0 ? [] : [{ ...table, hooks: others }];
  });
  return { ...root, hooks: { ...hooks, [event]: groups } };
}

/** A table `[hooks.state."…"]` for each hook that was trusted or switched off; the one around them goes with the last. */
export function removeStates(text: string, isOurState: Ours['isOurState']): string {
  let edited = text;
  for (const [key, state] of Object.entries(statesIn(parseToml(text)))) {
    if (!isOurState(key, state)) continue;
    const root = parseToml(edited);
    const states = Object.fromEntries(Object.entries(statesIn(root)).filter(([name]) => name !== key));
    const wanted = { ...root, hooks: { ...(isRow(root['hooks']) ? root['hooks'] : {}), state: states } };
    edited = withoutTable(edited, (line) => /^\s*\[.*state/.test(line), wanted) ?? edited;
    if (Object.keys(states).length === 0) edited = withoutTable(edited, isStateHeader, parseToml(edited)) ?? edited;
  }
  return edited;
}

const isStateHeader = (line: string): boolean => /^\s*\[\s*["']?hooks["']?\s*\.\s*["']?state["']?\s*\]/.test(line);

export const statesIn = (root: Row): Row => {
  const hooks = root['hooks'];
  const state = isRow(hooks) ? hooks['state'] : undefined;
  return isRow(state) ? state : {};
};

/** Without the comments that were around our tables. */
function tidied(text: string): string {
  const said = parseToml(text);
  let lines = linesOf(text);
  for (const mark of oldMarks) {
    const at = lines.findIndex((line) => line.trim() === mark);
    const without = at < 0 ? lines : withoutLine(lines, at, mark === oldMarks[0]);
    if (says(without.join(''), said)) lines = without;
  }
  return lines.join('');
}

/** With the blank line that was put before the first. */
function withoutLine(lines: readonly string[], at: number, isFirst: boolean): readonly string[] {
  const before = isFirst && isBlank(lines[at - 1]) ? at - 1 : at;
  const behind = isFirst && at === 0 && isBlank(lines[1]) ? 2 : at + 1;
  return [...lines.slice(0, before), ...lines.slice(behind)];
}

/** As TOML writes it, whatever it holds. */
const quoteToml = (text: string): string =>
  text.includes("'") || /[\u0000-\u001f\u007f]/.test(text) ? JSON.stringify(text).replaceAll('\u007f', '\\u007f') : `'${text}'`;
