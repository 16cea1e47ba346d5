// `format`: the function of CEL's strings extension that puts values into a text, as `"%s: %.2f".format([a, b])`.
import { builtLengthMax, type Environment, ownKeys, readIndex, readKey, type Site, spend, textSteps } from '../environment.ts';
import { compareTexts } from '../equality.ts';
import { Bytes, Duration, isJsonObject, isList, MapValue, Timestamp, TypeValue, Uint, Undecided } from '../values.ts';
import type { CelFunction } from './function.ts';
import { durationText, timestampText } from './time.ts';

/** A part of the text of a format: text as it is, or a clause that shows a value. */
type Piece = string | { readonly verb: string; readonly precision: number | null };

const clause = /%(?:%|(?:\.(\d{1,3}))?([sdfebxXo]))/y;
/** The digits after the point that a clause may ask for. */
const precisionMax = 100;

/** Null: the text has a clause that does not exist. */
function parseFormat(format: string): readonly Piece[] | null {
  const pieces: Piece[] = [];
  let at = 0;
  while (at < format.length) {
    const next = format.indexOf('%', at);
    if (next !== at) pieces.push(format.slice(at, next < 0 ? undefined : next));
    if (next < 0) return pieces;
    clause.lastIndex = next;
    const [all, precision, verb] = clause.exec(format) ?? [];
    if (all === undefined || Number(precision ?? 0) > precisionMax) return null;
    pieces.push(verb === undefined ? '%' : { verb, precision: precision === undefined ? null : Number(precision) });
    at = clause.lastIndex;
  }
  return pieces;
}

/** NaN and the infinities have texts. */
const elementOf = (list: readonly unknown[], at: number, site: Site): unknown =>
  typeof list[at] === 'number' ? list[at] : readIndex(list, at, site);

function applyFormat(pieces: readonly Piece[], values: unknown, env: Environment, site: Site): unknown {
  if (!isList(values)) return site.type;
  const clauses = pieces.filter((piece) => typeof piece !== 'string').length;
  if (clauses !== values.length) return site.unclear;
  let [text, used] = ['', 0];
  for (const piece of pieces) {
    const part = typeof piece === 'string' ? piece : shown(piece, elementOf(values, used++, site), env, site);
    if (part instanceof Undecided) return part;
    text += part;
    if (text.length > builtLengthMax || !spend(env, 1 + textSteps(part.length))) return site.budget;
  }
  return text;
}

function shown({ verb, precision }: Exclude<Piece, string>, value: unknown, env: Environment, site: Site): string | Undecided {
  if (value instanceof Undecided) return value;
  switch (verb) {
    case 's':
      return valueText(value, env, site, 0);
    case 'f':
      return doubleText(value, (double) => fixed(double, precision ?? 6)) ?? site.type;
    case 'e':
      return doubleText(value, (double) => exponential(double, precision ?? 6)) ?? site.type;
    case 'd':
      return decimalText(value) ?? site.type;
    case 'b':
      return typeof value === 'boolean' ? (value ? '1' : '0') : (integerText(value, 2) ?? site.type);
    case 'o':
      return integerText(value, 8) ?? site.type;
    default: {
      const hex = hexText(value);
      return hex === null ? site.type : verb === 'X' ? hex.toUpperCase() : hex;
    }
  }
}

/** Null: the value is no integer. */
function integerText(value: unknown, radix: number): string | null {
  if (typeof value === 'bigint') return value.toString(radix);
  return value instanceof Uint ? value.value.toString(radix) : null;
}

/** A double is shown too, because numbers of the input are doubles. Null: the value is no number. */
function decimalText(value: unknown): string | null {
  if (typeof value !== 'number') return integerText(value, 10);
  const text = String(value);
  return text.includes('e') ? fixed(value, Math.min(precisionMax, Number(text.split('e-')[1] ?? 0) + 17)).replace(/\.?0+$/, '') : text;
}

function hexText(value: unknown): string | null {
  if (typeof value === 'string') return Buffer.from(value, 'utf8').toString('hex');
  return value instanceof Bytes ? Buffer.from(value.data).toString('hex') : integerText(value, 16);
}

const notFinite = new Set(['NaN', 'Infinity', '-Infinity']);

/** Null: the value is no double. */
function doubleText(value: unknown, finite: (value: number) => string): string | null {
  if (typeof value === 'string') return notFinite.has(value) ? value : null;
  if (typeof value !== 'number') return null;
  return Number.isFinite(value) ? finite(value) : String(value);
}

const sign = (value: number): string => (value < 0 || Object.is(value, -0) ? '-' : '');

/** Rounds half to even. JavaScript rounds half up. */
function fixed(value: number, precision: number): string {
  const size = Math.abs(value);
  // From here on JavaScript writes an exponent, and every double is an integer.
  if (size >= 1e21) return `${sign(value)}${BigInt(size)}${precision === 0 ? '' : `.${'0'.repeat(precision)}`}`;
  return sign(value) + roundedHalf(size.toFixed(precision), size.toFixed(precisionMax), precision);
}

function exponential(value: number, precision: number): string {
  const size = Math.abs(value);
  const [digits = '', power = ''] = size.toExponential(precision).split('e');
  const [exact = '', exactPower = ''] = size.toExponential(precisionMax).split('e');
  const mantissa = power === exactPower ? roundedHalf(digits, exact, precision) : digits;
  return `${sign(value)}${mantissa}e${power.replace(/^([+-])(\d)$/, '$10$2')}`;
}

/** Returns the digits with this precision. `exact`: the digits of the same number with more precision. */
function roundedHalf(digits: string, exact: string, precision: number): string {
  const point = exact.indexOf('.') + 1;
  const rest = exact.slice(point + precision);
  const kept = exact.slice(0, precision === 0 ? point - 1 : point + precision);
  return /^50*$/.test(rest) && /[02468]$/.test(kept) ? kept : digits;
}

const depthMax = 64;

/** Returns the text of a value for `%s`. */
function valueText(value: unknown, env: Environment, site: Site, depth: number): string | Undecided {
  if (value instanceof Undecided) return value;
  if (depth > depthMax || !spend(env, 1)) return site.budget;
  switch (typeof value) {
    case 'string':
      return value;
    case 'boolean':
    case 'bigint':
    case 'number':
      return String(value);
    default:
      break;
  }
  if (value === null) return 'null';
  if (isList(value)) return listText(value, env, site, depth);
  if (value instanceof MapValue || isJsonObject(value)) return mapText(value, env, site, depth);
  return scalarText(value) ?? site.type;
}

function scalarText(value: unknown): string | null {
  if (value instanceof Uint) return String(value.value);
  if (value instanceof TypeValue) return value.name;
  if (value instanceof Timestamp) return timestampText(value.ns);
  if (value instanceof Duration) return durationText(value.ns);
  return value instanceof Bytes ? Buffer.from(value.data).toString('utf8') : null;
}

function listText(list: readonly unknown[], env: Environment, site: Site, depth: number): string | Undecided {
  const parts: string[] = [];
  for (let at = 0; at < list.length; at += 1) {
    const part = valueText(elementOf(list, at, site), env, site, depth + 1);
    if (part instanceof Undecided) return part;
    parts.push(part);
  }
  return `[${parts.join(', ')}]`;
}

function mapText(map: MapValue | Readonly<Record<string, unknown>>, env: Environment, site: Site, depth: number): string | Undecided {
  const keys = map instanceof MapValue ? [...map.entries.keys()] : ownKeys(map, env);
  if (keys === null) return site.budget;
  const parts: (readonly [key: string, text: string])[] = [];
  for (const key of keys) {
    const value = map instanceof MapValue ? map.entries.get(key)?.value : readKey(map, String(key), site);
    const text = valueText(value, env, site, depth + 1);
    if (text instanceof Undecided) return text;
    parts.push([String(key), text]);
  }
  const sorted = parts.toSorted(([a], [b]) => compareTexts(a, b));
  return `{${sorted.map(([key, text]) => `${key}: ${text}`).join(', ')}}`;
}

export const formatFunctions: Readonly<Record<string, CelFunction>> = {
  format: {
    arity: [2, 2],
    apply: ([format, values], env, site) => {
      if (typeof format !== 'string') return site.type;
      if (!spend(env, textSteps(format.length))) return site.budget;
      const pieces = parseFormat(format);
      return pieces === null ? site.unclear : applyFormat(pieces, values, env, site);
    },
    prepare: ([format]) => {
      if (format === undefined) return undefined;
      const pieces = parseFormat(format);
      if (pieces === null) return 'a format that has an unknown clause: there are %s, %d, %f, %e, %b, %o, %x, %X and %%, also as %.2f';
      return ([, values], env, site) => applyFormat(pieces, values, env, site);
    },
  },
};
