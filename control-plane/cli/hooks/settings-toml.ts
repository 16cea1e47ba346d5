// The hooks that Codex reads from config.toml: a block of our own at the end of the file, between two comments. TOML lets
// tables of a list be added there, unless the file says `hooks` in another form; such a file is refused with the place.
import { BadSettings } from './jsonc.ts';

const begin = '# >>> tollgate: `tollgate hooks uninstall codex` removes this block';
const end = '# <<< tollgate';

export function addBlock(text: string, lines: readonly string[]): string {
  const rest = removeBlock(text);
  checkToml(rest, ['PreToolUse', 'PostToolUse']);
  const gap = rest === '' ? '' : rest.endsWith('\n') ? '\n' : '\n\n';
  return `${rest}${gap}${[begin, ...lines, end].join('\n')}\n`;
}

export function removeBlock(text: string): string {
  const from = text.indexOf(begin);
  if (from < 0) return text;
  const to = text.indexOf(end, from);
  if (to < 0) throw new BadSettings(text, from, `the block that begins here has no end, ${end}`);
  const rest = text.slice(to + end.length).replace(/^\r?\n/, '');
  return text.slice(0, from).replace(/(^|\n)\n$/, '$1') + rest;
}

/** What our block says of an event, by key; null: nothing. */
export function eventIn(text: string, event: string): ReadonlyMap<string, string> | null {
  const from = text.indexOf(begin);
  const to = text.indexOf(end, from);
  if (from < 0 || to < 0) return null;
  const ours = valuesIn(text.slice(from, to)).flatMap(([key, value]) => {
    const name = /^hooks\.(\w+)\.(?:hooks\.)?(\w+)$/.exec(key);
    return name?.[1] === event && name[2] !== undefined ? [[name[2], value] as const] : [];
  });
  return ours.length === 0 ? null : new Map(ours);
}

/** As TOML writes it, whatever it holds. */
export const quoteToml = (text: string): string =>
  text.includes("'") || /[\u0000-\u001f\u007f]/.test(text) ? JSON.stringify(text).replaceAll('\u007f', '\\u007f') : `'${text}'`;

const pieces =
  /#[^\n]*|"""(?:[^\\]|\\[\s\S])*?"""|'''[\s\S]*?'''|"""|'''|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|["']|[[\]{}=\n]|[^\s#"'[\]{}=]+|[^\S\n]+/g;

/** Refuses what is no TOML as far as it matters here, and what our tables could not be added to. */
function checkToml(text: string, events: readonly string[]): void {
  let table = '';
  for (const { at, line } of statementsIn(text)) table = readLine(text, at, line, table, events);
}

/** Every key with its tables before it, and its value as it is written; of a table in a line the keys that switch something too. */
export function valuesIn(text: string): readonly (readonly [key: string, value: string])[] {
  let table = '';
  const values: (readonly [string, string])[] = [];
  for (const { at, line } of statementsIn(text)) {
    const outer = table;
    table = readLine(text, at, line, table, []);
    const equals = line.indexOf('=');
    if (equals <= 0 || headerIn(line) !== null) continue;
    const key = `${outer === '' ? '' : `${outer}.`}${plainKey(line.slice(0, equals))}`;
    const value = line.slice(equals + 1).trim();
    values.push([key, value]);
    if (value.startsWith('{'))
      for (const [, inner = '', on = ''] of value.matchAll(/([\w"'.-]+)\s*=\s*(true|false)\b/g))
        values.push([`${key}.${plainKey(inner)}`, on]);
  }
  return values;
}

/** Lines as TOML has them: a value may go over several. */
function* statementsIn(text: string): Generator<{ readonly at: number; readonly line: string }> {
  let depth = 0;
  let line: string[] = [];
  let lineAt = 0;
  for (const { 0: piece, index } of text.matchAll(pieces)) {
    if (piece.startsWith('#')) continue;
    if (/^(?:"""|'''|["'])$/.test(piece)) throw new BadSettings(text, index, 'a text that begins here has no end');
    if (piece === '\n' && depth === 0) {
      yield { at: lineAt, line: line.join('').trim() };
      line = [];
      lineAt = index + 1;
      continue;
    }
    // Brackets of a header are none of a value.
    if (line.includes('=')) depth += piece === '[' || piece === '{' ? 1 : piece === ']' || piece === '}' ? -1 : 0;
    if (depth < 0) throw new BadSettings(text, index, 'a bracket ends here that did not begin');
    line.push(piece);
  }
  if (depth > 0) throw new BadSettings(text, lineAt, 'a list or table that begins here has no end');
  yield { at: lineAt, line: line.join('').trim() };
}

const plainKey = (key: string): string => key.replaceAll(/["'\s]/g, '');

const headerIn = (line: string): { readonly isList: boolean; readonly name: string } | null => {
  const header = line.includes('=') ? null : /^(\[\[?)\s*(.*?)\s*\]\]?$/s.exec(line);
  return header === null ? null : { isList: header[1] === '[[', name: plainKey(header[2] ?? '') };
};

/** The table that the next line is in. */
function readLine(text: string, at: number, line: string, table: string, events: readonly string[]): string {
  if (line === '') return table;
  const header = headerIn(line);
  if (header !== null) {
    if (!header.isList && events.some((event) => header.name === `hooks.${event}`)) throw inAnotherForm(text, at);
    return header.name;
  }
  const equals = line.indexOf('=');
  if (equals <= 0) throw new BadSettings(text, at, 'this line is no key with a value, and no table');
  const key = plainKey(line.slice(0, equals));
  const full = table === '' ? key : `${table}.${key}`;
  if ((full === 'hooks' && events.length > 0) || events.some((event) => full === `hooks.${event}`)) throw inAnotherForm(text, at);
  return table;
}

const inAnotherForm = (text: string, at: number): BadSettings =>
  new BadSettings(text, at, 'hooks are written here in a form that tables cannot be added to; write them as [[hooks.PreToolUse]]');
