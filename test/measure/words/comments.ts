// Extracts the comments of files that are not parsed: .proto and .sql as comments, shell, YAML, Python, templates and
// image files as scripts. What else stands in them, and in JSON, are texts; of .proto and .sql that is not taken, since
// it names what is on the wire and in tables. Called by texts.ts. The marks are found by their form, so one inside a
// quoted text counts as a comment as well.
import { extname, posix } from 'node:path';
import type { Piece } from './texts.ts';

const slashes = /\/\/(.*)$|\/\*([\s\S]*?)\*\//gm;
const dashes = /--(.*)$|\/\*([\s\S]*?)\*\//gm;
const hashes = /(?:^|\s)#(?!!)(.*)$/gm;
const templateMarks = /\{\{-?\s*\/\*([\s\S]*?)\*\/|(?:^|\s)#(?!!)(.*)$/gm;

const byEnding: Readonly<Record<string, RegExp>> = {
  '.proto': slashes,
  '.sql': dashes,
  '.sh': hashes,
  '.bash': hashes,
  '.py': hashes,
  '.toml': hashes,
  '.yaml': templateMarks,
  '.yml': templateMarks,
  '.tpl': templateMarks,
};

const dataEndings = new Set(['.json', '.txt']);

export function listOtherPieces(path: string, read: () => string): readonly Piece[] {
  const mark = byEnding[extname(path)] ?? markOfScript(path, read);
  if (mark === null)
    return dataEndings.has(extname(path)) && !/(?:^|\/)package-lock\.json$/.test(path) ? [{ kind: 'texts', text: read() }] : [];
  const kind = mark === slashes || mark === dashes ? 'comments' : 'scripts';
  // Consecutive lines are one text, so that a phrase across a line end is found.
  const lines = [...read().matchAll(mark)].map(([, one, other]) => one ?? other ?? '');
  const comments: readonly Piece[] = lines.length === 0 ? [] : [{ kind, text: lines.join('\n') }];
  return kind === 'comments' ? comments : [...comments, { kind: 'texts', text: read().replaceAll(mark, '\n') }];
}

function markOfScript(path: string, read: () => string): RegExp | null {
  if (/^(?:Containerfile|Dockerfile|Makefile)/.test(posix.basename(path))) return hashes;
  return extname(path) === '' && /^#!.*\b(?:ba|da|z)?sh\b/.test(read().slice(0, 100)) ? hashes : null;
}
