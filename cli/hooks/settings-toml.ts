// Edits the settings of hosts that read their hooks from a TOML file: Codex, with config.toml. Our table for an event
// is added at the end of the event's list, after the last line of the file that has content. Codex itself adds tables
// there too. If the file writes `hooks` in a form in which no table can be added, the file is rejected with an error
// that names the place. Our tables are found by the content of the file, in any notation. Codex identifies hooks by
// their position. Therefore a later install replaces our tables in place, and removals are reported as in `removalsIn`.
import type { HostName } from '@tollgate/proto/contract';
import { followDeparture, hookHash } from './codex-trust.ts';
import { installedIn, isOurs as isOurHandler } from './handler.ts';
import { type HostFacts, type HostSettings, limitSecondsFor, placesOf, type Way } from './host.ts';
import {
  isAlone,
  type IsOurs,
  type Leaves,
  leavesForNew,
  listed,
  type Place,
  placesIn,
  removalsIn,
  withGroups,
  withoutPlace,
} from './hook-places.ts';
import {
  behindMark,
  headMark,
  isBlank,
  isMarkedHeader,
  isToml,
  linesOf,
  newlineOf,
  parseToml,
  replaceInline,
  replaceTable,
  says,
  withoutInline,
  withoutMarks,
  withoutTable,
} from './edit-toml.ts';
import { isRow, type Row } from '../api/answer.ts';
import { BadSettings, unprovenEdit } from './settings-file.ts';

interface InToml extends HostFacts {
  readonly events: readonly string[];
  readonly command: (way: Way) => string;
}

/** The prefix, in `made`, of the digest of a hook that Codex may have stored as trusted. */
const hashMark = 'hash:';

export function inToml(host: HostName, { events, command, ...facts }: InToml): HostSettings {
  const { title, programs, notes, before } = facts;
  const isOurs = (handler: unknown): boolean => isOurHandler(host, handler);
  const oursIn = (text: string): readonly Place[] => placesIn(parseToml(text)).filter(({ handler }) => isOurs(handler));
  const all: Leaves = ({ handler }) => isOurs(handler);
  const surplus = leavesForNew(isOurs, events);
  const hashesOf = (text: string, made: readonly string[]): ReadonlySet<string> =>
    new Set([...made.filter((one) => one.startsWith(hashMark)).map((one) => one.slice(hashMark.length)), ...oursIn(text).map(hookHash)]);
  const follow: NonNullable<HostSettings['follow']> = (states, { names, text, made, isReplaced }) => {
    const hashes = isReplaced ? new Set<string>() : hashesOf(text, made);
    const { removals, left } = removalsIn(parseToml(text), isReplaced ? surplus : all);
    return followDeparture(states, { names, hashes, removals, left });
  };
  return {
    title,
    programs,
    notes,
    ...placesOf(facts),
    add: (text, way, { names = [] } = {}) => {
      const handler: Handler = { type: 'command', command: command(way), timeout: limitSecondsFor(way.waitMs ?? null) };
      const tables: Tables = events.map((event) => [event, handler]);
      return {
        text: behindMark(text, (bare) => putTables(follow(bare, { names, text, made: [], isReplaced: true }), tables, isOurs)),
        made: events.map((event) => hashMark + hookHash({ event, handler, table: {} })),
      };
    },
    remove: (text, made, { names = [] } = {}) =>
      behindMark(text, (bare) => removeTables(follow(bare, { names, text, made, isReplaced: false }), { leaves: all, isOurs })),
    follow: (text, departure) => behindMark(text, (bare) => follow(bare, departure)),
    isBare: (text) => text.trim() === '',
    ours: (text) => oursIn(text).map(({ event, handler, table }) => [event, handler, { ...table, hooks: null }]),
    installed: (text, on) => {
      const found = placesIn(parseToml(text)).filter(({ event }) => event === before);
      return installedIn(
        host,
        found.map(({ handler, table }) => ({ handler, group: table })),
        on,
      );
    },
  };
}

interface Handler {
  readonly type: 'command';
  readonly command: string;
  readonly timeout: number;
}

type Table = readonly [event: string, handler: Handler];
type Tables = readonly Table[];

/** For each event, replaces our table by the new one, or adds the new one at the end if there is none of ours. */
export function putTables(text: string, tables: Tables, isOurs: IsOurs): string {
  const events = tables.map(([event]) => event);
  let edited = removeTables(text, { leaves: leavesForNew(isOurs, events), isOurs });
  const missing: Table[] = [];
  for (const [event, handler] of tables) {
    const kept = placesIn(parseToml(edited)).find((place) => place.event === event && isOurs(place.handler));
    if (kept === undefined) missing.push([event, handler]);
    else edited = withHandler(edited, kept, handler);
  }
  return missing.length === 0 ? edited : addTables(edited, missing);
}

function withHandler(text: string, place: Place, handler: Handler): string {
  const { event, group, at, table } = place;
  const hooks = listed(table['hooks']).map((one, index) => (index === at ? handler : one));
  const replaced = isAlone(place) ? { hooks } : { ...table, hooks };
  const wanted = withGroups(parseToml(text), event, (groups) => groups.map((one, index) => (index === group ? replaced : one)));
  if (says(text, wanted)) return text;
  const edited =
    replaceTable(
      text,
      isAlone(place)
        ? { begins: isHeaderOf(event), table: linesFor(event, handler), wanted }
        : { begins: isHeaderOf(event, 'hooks'), table: handlerLines(event, handler), wanted },
    ) ?? replaceInline(text, { command: commandIn(place.handler), table: `{ ${pairsOf(handler).join(', ')} }`, wanted });
  if (edited === null) throw unprovenEdit(text, placeOfCommand(text), `hooks.${event}`);
  return edited;
}

function addTables(text: string, tables: Tables): string {
  const before = parseToml(text);
  const [body, rest] = splitBehind(text);
  const edited = joined(body, rest, tables);
  if (says(edited, withTables(before, tables))) return edited;
  throw inAnotherForm(text, tables);
}

/** Splits the text after the last line with content, before the comments and blank lines at the end. */
function splitBehind(text: string): readonly [string, string] {
  const lines = linesOf(text);
  const last = lines.findLastIndex((line) => !/^\s*(?:#|$)/.test(line));
  return [lines.slice(0, last + 1).join(''), lines.slice(last + 1).join('')];
}

function joined(body: string, rest: string, tables: Tables): string {
  const newline = newlineOf(body + rest);
  const ours = tables.flatMap(([event, handler]) => linesFor(event, handler)).join(newline);
  if (body === '') return `${ours}${newline}${isBlank(linesOf(rest)[0]) ? newline : ''}${rest}`;
  // If the text does not end with a newline, the text with our tables does not either.
  return body.endsWith('\n') ? `${body}${newline}${ours}${newline}${rest}` : `${body}${newline}${ours}`;
}

const linesFor = (event: string, handler: Handler): readonly string[] => [`[[hooks.${event}]]${headMark}`, ...handlerLines(event, handler)];

const handlerLines = (event: string, handler: Handler): readonly string[] => [`[[hooks.${event}.hooks]]`, ...pairsOf(handler)];

const pairsOf = ({ type, command, timeout }: Handler): readonly string[] => [
  `type = ${quoteToml(type)}`,
  `command = ${quoteToml(command)}`,
  `timeout = ${timeout}`,
];

const withTables = (before: Row, tables: Tables): Row =>
  tables.reduce((root, [event, handler]) => withGroups(root, event, (groups) => [...groups, { hooks: [handler] }]), before);

/**
 * Returns an error that names the line because of which our tables cannot be added. This line is found among the lines
 * that contain the names of hooks: if the text ended before this line, our tables could still be added. It is the last
 * such line.
 */
function inAnotherForm(text: string, tables: Tables): BadSettings {
  const words = 'tables cannot be added to hooks in this form; write them as [[hooks.PreToolUse]]';
  const lines = linesOf(text);
  let [at, found] = [0, 0];
  for (const line of lines) {
    const before = text.slice(0, at);
    if (/hooks|ToolUse/.test(line) && isToml(before) && says(joined(before, '', tables), withTables(parseToml(before), tables))) found = at;
    at += line.length;
  }
  return new BadSettings(text, found, words);
}

/** Removes each handler for which `leaves` is true, and our comments around these handlers. */
export function removeTables(text: string, { leaves, isOurs }: { leaves: Leaves; isOurs: IsOurs }): string {
  let edited = text;
  for (;;) {
    const root = parseToml(edited);
    const place = placesIn(root).find((one) => leaves(one, root));
    if (place === undefined) return withoutMarks(edited, (table) => isOursAlone(table, isOurs));
    edited = withoutHandler(edited, place);
  }
}

function isOursAlone(table: unknown, isOurs: IsOurs): boolean {
  const hooks = isRow(table) ? listed(table['hooks']) : [];
  return hooks.length > 0 && hooks.every(isOurs);
}

function withoutHandler(text: string, place: Place): string {
  const wanted = withoutPlace(parseToml(text), place);
  const left = withoutTable(text, {
    begins: isAlone(place) ? isHeaderOf(place.event) : isHeaderOf(place.event, 'hooks'),
    wanted,
    // `tollgate hooks install` puts only one blank line before all our tables. This blank line stays while another
    // table of ours follows it.
    sharesBlank: isMarkedHeader,
  });
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

/** Returns any text as a TOML string. */
const quoteToml = (text: string): string =>
  text.includes("'") || /[\u0000-\u001f\u007f]/.test(text) ? JSON.stringify(text).replaceAll('\u007f', '\\u007f') : `'${text}'`;
