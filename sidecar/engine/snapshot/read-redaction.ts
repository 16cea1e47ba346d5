// Reads how a workspace adapts redaction. A value that passes can be used to build a redactor.
import { type CompiledRedaction, isRedactionKind, ownKindProblem, redactionBounds, redactionKinds } from '@tollgate/proto/contract';
import { ownPatternProblem } from '../redact/own-pattern.ts';
import { array, InvalidEntry, namedOnce, object, pair, type Reader, string } from './read.ts';

export function readRedaction(value: unknown, path: string): CompiledRedaction {
  const redaction = object(value, path);
  const read: CompiledRedaction = {
    // Kinds that this sidecar does not know are dropped: only a newer sidecar searches for them, so they are off here
    // in any case.
    off: redaction.read('off', array(string)).filter(isRedactionKind),
    patterns: redaction.read('patterns', atMost(redactionBounds.patterns, namedOnce(pair(kind, pattern)))),
    allow: redaction.read('allow', atMost(redactionBounds.allow, array(digest))),
    exceptions: redaction.read('exceptions', atMost(redactionBounds.exceptions, namedOnce(pair(string, atMost(kindsMax, array(kind)))))),
  };
  // A pattern whose kind is off is rejected: it would never be used, although a person wrote it to find something. No
  // control plane allows both.
  for (const [name] of read.patterns)
    if (read.off.some((one) => one === name))
      throw new InvalidEntry(`${path}.patterns: must not contain ${name}, because this kind is switched off`);
  return read;
}

const kindsMax = redactionKinds.length + redactionBounds.patterns;

/** Returns a reader that checks the length of a list before it reads any item. */
const atMost =
  <T>(max: number, reader: Reader<T>): Reader<T> =>
  (value, path) => {
    if (Array.isArray(value) && value.length > max)
      throw new InvalidEntry(`${path}: must contain at most ${max} items, but contains ${value.length}`);
    return reader(value, path);
  };

/** Returns a reader for a text. The reader throws `InvalidEntry` if `say` returns a problem. */
const checked =
  (say: (text: string) => string | null): Reader<string> =>
  (value, path) => {
    const text = string(value, path);
    const wrong = say(text);
    if (wrong !== null) throw new InvalidEntry(`${path}: ${wrong}`);
    return text;
  };

// A built-in kind is accepted too: the workspace may have used this name for its own pattern before the name became a
// built-in kind.
const kind = checked((name) => (isRedactionKind(name) ? null : ownKindProblem(name)));
const pattern = checked(ownPatternProblem);
const digest = checked((text) => (/^[0-9a-f]{64}$/.test(text) ? null : 'must be 64 hex digits in lower case'));
