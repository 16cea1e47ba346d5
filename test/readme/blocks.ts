// The fenced blocks of a page in their order, each with how the runner handles it. The info string defines that: a
// block with an unknown one is refused, so that every block is checked. Called by `pages.ts`.
import { findRefusedForm } from './refused-forms.ts';

export type Block =
  /** Shell commands; those `inBackground` run until the end of the page. */
  | { readonly kind: 'shell'; readonly line: number; readonly text: string; readonly inBackground: boolean }
  /** Commands after `$ `, each followed by its output, of which the first line is compared. */
  | { readonly kind: 'console'; readonly line: number; readonly text: string }
  /** A part of the TypeScript program `file`. */
  | { readonly kind: 'typescript'; readonly line: number; readonly text: string; readonly file: string }
  | { readonly kind: 'text'; readonly line: number; readonly text: string }
  | { readonly kind: 'no-run'; readonly line: number; readonly text: string; readonly reason: string };

const knownInfos =
  '"sh", "sh background", "sh no-run: <reason>", "console", "ts <file>", "python" and "text"; mark a block by one of them after its opening fence';

/**
 * `page` is the name of the page in `problems`, which name every block with a wrong mark. `line` of a block is that of
 * its first line of text, counted from 1.
 */
export function readBlocks(page: string, markdown: string): { readonly blocks: readonly Block[]; readonly problems: readonly string[] } {
  const blocks: Block[] = [];
  const problems: string[] = [];
  for (const { info, line, text, isClosed, isIndented } of findFences(markdown)) {
    if (isIndented) {
      problems.push(`${page} line ${line - 1}: the block is indented and would not be run; begin its fence at the start of the line`);
      continue;
    }
    const read = isClosed ? readBlock(info, line, text) : 'is never closed';
    if (typeof read === 'string') problems.push(`${page} line ${line - 1}: the block ${read}`);
    else {
      blocks.push(read);
      const refused = read.kind === 'shell' || read.kind === 'console' ? findRefusedForm(text) : null;
      if (refused !== null) problems.push(`${page} line ${line + refused.at}: the command ${refused.problem}`);
    }
  }
  return { blocks, problems };
}

interface Fence {
  readonly info: string;
  readonly line: number;
  readonly text: string;
  readonly isClosed: boolean;
  /** Within a list or a quote. */
  readonly isIndented: boolean;
}

function findFences(markdown: string): readonly Fence[] {
  const lines = markdown.split('\n');
  const fences: Fence[] = [];
  for (let at = 0; at < lines.length; at += 1) {
    const opening = /^((?:[\s>]|[-*+]\s|\d+[.)]\s)*)(`{3,}|~{3,})(.*)$/.exec(lines[at] ?? '');
    if (opening === null) continue;
    const [, indent = '', mark = '', info = ''] = opening;
    const isIndented = indent !== '';
    const isEnd = (line: string): boolean => line.startsWith(mark) && line.slice(mark.length).trim() === '';
    const end = lines.findIndex((line, index) => index > at && isEnd(isIndented ? line.replace(/^[\s>]+/, '') : line));
    const text = lines.slice(at + 1, end === -1 ? undefined : end).join('\n');
    fences.push({ info: info.trim(), line: at + 2, text, isClosed: end !== -1, isIndented });
    if (end === -1) break;
    at = end;
  }
  return fences;
}

/** A string is the error of the mark. */
function readBlock(info: string, line: number, text: string): Block | string {
  const [language = '', ...rest] = info.split(/\s+/);
  const mark = rest.join(' ');
  if (language === 'sh' && /^no-run\b/.test(mark)) {
    const reason = /^no-run:\s*(\S.*)$/.exec(mark)?.[1];
    return reason === undefined ? 'is marked no-run without a reason; write "sh no-run: <reason>"' : { kind: 'no-run', line, text, reason };
  }
  if (info === 'sh' || info === 'sh background') return { kind: 'shell', line, text, inBackground: mark !== '' };
  if (info === 'console')
    return text.startsWith('$ ') ? { kind: 'console', line, text } : 'is marked console and does not begin with a command after "$ "';
  // The tests of clients/python run those of Python.
  if (info === 'text' || info === 'python') return { kind: 'text', line, text };
  if (language === 'ts' && /^[\w-]+\.ts$/.test(mark)) return { kind: 'typescript', line, text, file: mark };
  return `${info === '' ? 'has no info string' : `has the info string "${info}"`}; known are ${knownInfos}`;
}
