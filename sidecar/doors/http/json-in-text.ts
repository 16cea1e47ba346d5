// Redacts JSON that is part of a text, in a line or in an event. Text redaction would miss secrets that JSON escapes
// hide (`\u0067hp_…`), so this part is redacted as JSON. A line is held back from the first position where JSON could
// begin, and an event until its end. Text above the size limit for JSON is replaced as a whole.
import { type Finding, overBudgetKind } from '@tollgate/proto/contract';
import { byKind } from '../../engine/govern/payload.ts';
import type { Numbers, Redactor } from '../../engine/redact/index.ts';

interface JsonInText {
  /** Returns the part of the text that is ready for text redaction. */
  push(text: string): string;
  end(): string;
  /** Returns the findings of everything that was redacted or replaced here. */
  findings(): readonly Finding[];
}

/**
 * A longer line, event or document is replaced as a whole. Lines and events are measured in UTF-16 code units,
 * documents in bytes.
 */
export const jsonLengthMax = 8 * 1024 * 1024;

const eventEnd = /\r\n\r\n|\n\r?\n|\r\r/g;
const jsonBegin = /[[{"]/;
const overBudgetMark = JSON.stringify(`[redacted:${overBudgetKind}]`);

export function jsonInText(redactor: Pick<Redactor, 'redactJson'>, numbers: Numbers, isEvents: boolean): JsonInText {
  // Findings are summed up during the answer, because an answer may have no end.
  const counts = new Map<string, number>();
  const add = ({ kind, count }: Finding): void => void counts.set(kind, (counts.get(kind) ?? 0) + count);
  const json = (text: string): string => {
    const { text: redacted, findings } = redactor.redactJson(text, numbers);
    findings.forEach(add);
    return redacted;
  };
  const replaced = (): string => {
    add({ kind: overBudgetKind, count: 1 });
    return overBudgetMark;
  };
  const parts = isEvents ? eventsOf(json, replaced) : linesOf(json, replaced);
  return { ...parts, findings: () => byKind(Array.from(counts, ([kind, count]) => ({ kind, count }))) };
}

type Parts = Pick<JsonInText, 'push' | 'end'>;
type RedactJson = (json: string) => string;

function linesOf(json: RedactJson, replaced: () => string): Parts {
  let held = '';
  let isDropping = false;
  const take = (part: string): string => {
    const isEnded = part.endsWith('\n') || part.endsWith('\r');
    if (isDropping) {
      isDropping = !isEnded;
      return isEnded ? part.slice(-1) : '';
    }
    const begin = held === '' ? part.search(jsonBegin) : 0;
    if (begin < 0) return part;
    const before = part.slice(0, begin);
    held += part.slice(begin);
    if (!isEnded && held.length <= jsonLengthMax) return before;
    const whole = held;
    held = '';
    if (whole.length <= jsonLengthMax) return before + lineTail(whole, json);
    isDropping = !isEnded;
    return before + replaced() + (isEnded ? part.slice(-1) : '');
  };
  return {
    push: (text) =>
      text
        .split(/(?<=[\r\n])/)
        .map(take)
        .join(''),
    end: () => {
      const rest = held;
      held = '';
      return lineTail(rest, json);
    },
  };
}

function eventsOf(json: RedactJson, replaced: () => string): Parts {
  let held = '';
  let isDropping = false;
  let tail = '';
  const release = (): string => {
    const event = held;
    held = '';
    return isDropping ? '' : redactedEvent(event, json);
  };
  const hold = (text: string): string => {
    if (isDropping) return '';
    held += text;
    if (held.length <= jsonLengthMax) return '';
    held = '';
    isDropping = true;
    return `data: ${replaced()}\n\n`;
  };
  return {
    push: (text) => {
      let out = '';
      let at = 0;
      for (const { index, 0: end } of `${tail}${text}`.matchAll(eventEnd)) {
        const to = index + end.length - tail.length;
        if (to <= 0) continue;
        out += hold(text.slice(at, to)) + release();
        isDropping = false;
        at = to;
      }
      tail = `${tail}${text}`.slice(-3);
      return out + hold(text.slice(at));
    },
    end: release,
  };
}

/** Redacts one event. If the event has several `data` lines, their data together is one text. */
function redactedEvent(event: string, json: RedactJson): string {
  const lines: readonly string[] = event.match(/[^\r\n]*(?:\r\n|\n|\r|$)/g) ?? [];
  const data = lines.filter((line) => dataLine.test(line));
  const document = data.map(dataOf).join('\n');
  if (data.length < 2 || !isJsonText(document)) return lines.map((line) => redactedLine(line, json)).join('');
  const redacted = json(document);
  const others = lines.map((line) => (dataLine.test(line) ? line : redactedLine(line, json)));
  if (redacted === document) return others.join('');
  const [first = ''] = data;
  const end = /[\r\n]*$/.exec(first)?.[0] || '\n';
  const written = redacted
    .split(/\r\n|\n|\r/)
    .map((line) => `data: ${line}${end}`)
    .join('');
  const at = lines.indexOf(first);
  return others.flatMap((line, index) => (index === at ? [written] : dataLine.test(line) ? [] : [line])).join('');
}

const dataLine = /^data(?::|\r|\n|$)/;
const dataOf = (line: string): string => line.replace(/^data:? ?/, '').replace(/[\r\n]+$/, '');

function redactedLine(line: string, json: RedactJson): string {
  const begin = line.search(jsonBegin);
  return begin < 0 ? line : line.slice(0, begin) + lineTail(line.slice(begin), json);
}

/**
 * Returns the redacted rest of a line, from where JSON could begin. If the rest is not JSON, it may be one line of a
 * larger JSON text. Then each complete string in it is redacted.
 */
function lineTail(tail: string, json: RedactJson): string {
  if (isJsonText(tail)) return json(tail);
  if (!tail.includes('\\')) return tail;
  return tail.replaceAll(/"(?:[^"\\]|\\.)*"/g, (string) => (string.includes('\\') && isJsonText(string) ? json(string) : string));
}

export function isJsonText(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
