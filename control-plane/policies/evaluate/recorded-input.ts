// Reads the input of an entry as conditions read it. An entry shows less than the call had: redaction replaces texts, and
// a long input is cut or left out. What is missing is undecided, so that a simulation does not take a mark or an absence
// for a value of the call.
import { bounds } from '@tollgate/proto/contract';
import { isObject } from '@tollgate/proto/shape';
import { type CallFacts, Undecided } from '@tollgate/sidecar/engine/compile';

/** What conditions read of a recorded call. */
export interface RecordedFacts extends CallFacts {
  /** Whether a part of the input is missing. */
  readonly hides: boolean;
}

/** `at`: when the call was decided, as wall-clock time in ms. */
export function recordedFacts(fields: Readonly<Record<string, unknown>>, at: number): RecordedFacts {
  const input = fields['input'];
  const reading = { hides: fields['inputCut'] === true || !Object.hasOwn(fields, 'input') };
  const args = reading.hides ? hidden : (read(input, 0, reading) ?? {});
  const shownHeaders = shownHeadersIn(input);
  const hides = reading.hides || shownHeaders !== undefined;
  return { args, wallTime: at, caseAnswers: null, approved: null, hides, ...(shownHeaders === undefined ? {} : { shownHeaders }) };
}

const ofHttp = new Set(['method', 'path', 'query', 'headers', 'body']);

/**
 * Returns the headers in the input of an HTTP tool: it contained only those that conditions named then, and a draft may
 * name others. Undefined: the input does not look like one of an HTTP tool.
 */
function shownHeadersIn(input: unknown): ReadonlySet<string> | undefined {
  if (!isObject(input) || typeof input['method'] !== 'string' || typeof input['path'] !== 'string') return undefined;
  if (!Object.keys(input).every((key) => ofHttp.has(key))) return undefined;
  return new Set(isObject(input['headers']) ? Object.keys(input['headers']) : []);
}

const hidden = new Undecided('hidden', 'args');
/** The beginning of each mark that redaction sets. A caller can write it too, which cannot be told apart. */
const markBegin = '[redacted:';

function read(value: unknown, depth: number, reading: { hides: boolean }): unknown {
  if (typeof value === 'string') return value.includes(markBegin) ? hide(reading) : value;
  if (typeof value !== 'object' || value === null) return value;
  // No call is deeper. An entry can be, because a sidecar can write anything.
  if (depth >= bounds.jsonDepth) return hide(reading);
  if (Array.isArray(value)) return value.map((item) => read(item, depth + 1, reading));
  const fields = Object.entries(value);
  if (isNotShown(fields)) return hide(reading);
  // A redacted key is one key of the call, but the entry does not say which.
  if (fields.some(([key]) => key.includes(markBegin))) return hide(reading);
  return Object.fromEntries(fields.map(([key, field]) => [key, read(field, depth + 1, reading)]));
}

/** What stands in an entry for a part that a gateway did not show, such as a body that it cut. */
const isNotShown = (fields: readonly (readonly [string, unknown])[]): boolean =>
  fields.length === 1 && fields[0]?.[0] === 'shown' && fields[0][1] === false;

function hide(reading: { hides: boolean }): Undecided {
  reading.hides = true;
  return hidden;
}
