// Measures redaction: which values are replaced and which stay, on the held-out part of the corpus, compared with two
// libraries; and its speed compared with reading and writing the same JSON, and with those libraries.
import { plainRedaction } from '@tollgate/proto/contract';
import { createNumbers, createRedactor } from '@tollgate/sidecar/engine/redact';
import { isPositive, loadCorpus, type Row } from '../redact/corpus.ts';
import { createOpenRedaction, createSecretlint, createTollgate, type Library } from '../redact/libraries.ts';
import { damageOf, kindGroups, recallOf, type Score, scoreRows, secretGroups } from '../redact/score.ts';
import { comparePairs, judge, type Result, timeBatch } from './measure.ts';
import type { TargetId } from './targets.ts';

const payloadBytes = 1_000_000;
const libraryMs = 3_000;
// Documents have the size of typical tool results; one of the libraries cannot process more at once in an acceptable
// time.
const documentBytes = 4_000;

export const benchRedactQuality = (): Promise<readonly Result[]> => quality([createTollgate(), createSecretlint(), createOpenRedaction()]);

export async function* benchRedactSpeed(): AsyncGenerator<Result> {
  const harmless = loadCorpus('development').rows.filter((row) => !isPositive(row));
  const lookAlikes = documentsOf(harmless, payloadBytes, documentBytes).map((result) => ({ ok: true, result }));
  yield speed('redaction speed', '1 MB of tool results', JSON.stringify(ordinaryResults(payloadBytes)));
  yield speed('redaction speed, look-alikes', '1 MB of nothing but look-alikes', JSON.stringify(lookAlikes));
  yield await againstLibraries(harmless);
}

async function quality(libraries: readonly Library[]): Promise<readonly Result[]> {
  const { rows, problems } = loadCorpus('held-out');
  if (rows.length === 0 || problems.length > 0) throw new Error(`the held-out rows cannot be scored: ${problems.join('; ')}`);
  const scores: { readonly name: string; readonly score: Score }[] = [];
  for (const { name, redactText, redactJson } of libraries)
    scores.push({ name, score: await scoreRows(rows, ({ isJson, text }) => (isJson ? redactJson(text) : redactText(text))) });
  const result = (id: TargetId, name: string, shareOf: (score: Score) => number): Result => {
    const [ours = Number.NaN, ...others] = scores.map(({ score }) => shareOf(score));
    const baseline = others.map((share, at) => `${scores[at + 1]?.name} ${(share * 100).toFixed(1)} %`).join(', ');
    return judge(id, { name: `${name}, held out`, value: ours * 100, unit: '%', baseline, ratio: ours });
  };
  const missed = (kinds: Parameters<typeof recallOf>[1]) => (score: Score) => 1 - recallOf(score, kinds).recall;
  const groups = {
    'secrets by form': 'redaction, missed secrets',
    'secrets by structure': 'redaction, missed secrets',
    'secrets by name': 'redaction, missed by name',
    'structured personal data': 'redaction, missed personal data',
    'other personal data': 'redaction, missed personal data',
  } as const;
  return [
    result('redaction, missed secrets', 'missed of secrets with a form or structure', missed(secretGroups)),
    ...Object.entries(groups).map(([group, id]) => result(id, `missed of ${group}`, missed(kindsOf(group)))),
    result('redaction, look-alikes', 'changed of look-alikes', (score) => damageOf(score).damage),
  ];
}

const kindsOf = (group: string) => Object.entries(kindGroups).find(([name]) => name === group)?.[1] ?? [];

function speed(id: TargetId, of: string, payload: string): Result {
  const redactor = createRedactor(plainRedaction, []);
  // A document that is replaced as a whole would be fast, but useless.
  const isWhole = redactor.redactJson(payload, createNumbers()).findings.some(({ kind }) => kind === 'over_budget');
  const ours = timeBatch(() => void redactor.redactJson(payload, createNumbers()));
  const roundTrip = timeBatch(() => void JSON.stringify(JSON.parse(payload)));
  const { ns, ratio } = comparePairs(ours, roundTrip, { batch: 5, rounds: 7 });
  const result = judge(id, {
    name: `redaction of ${of}${isWhole ? ': too much work for one call' : ''}`,
    value: megabytesPerSecond(payload.length, ns / 1e6),
    unit: 'MB/s',
    baseline: 'JSON.parse and JSON.stringify of the same',
    ratio,
  });
  return isWhole ? { ...result, ok: false } : result;
}

/**
 * Redaction must be at least as fast as the library that also looks for personal data. Secretlint has fifteen rules,
 * all for secrets: it is for orientation.
 */
async function againstLibraries(rows: readonly Row[]): Promise<Result> {
  const documents = documentsOf(rows, payloadBytes, documentBytes).map((result) => JSON.stringify({ ok: true, result }));
  const value = await throughput(createTollgate(), documents);
  const secretlint = await throughput(createSecretlint(), documents);
  const other = await throughput(createOpenRedaction(), documents);
  const baseline = `openredaction, ${other.toPrecision(3)} MB/s; for orientation: secretlint, secrets only, ${secretlint.toPrecision(3)} MB/s`;
  return judge('redaction speed, libraries', { name: 'redaction against libraries', value, unit: 'MB/s', baseline, ratio: other / value });
}

/** Processes documents one after the other, for the allowed time; the first few are not counted. */
async function throughput({ redactJson }: Library, documents: readonly string[]): Promise<number> {
  for (const document of documents.slice(0, 20)) await redactJson(document);
  const startedAt = performance.now();
  let characters = 0;
  for (let at = 0; performance.now() - startedAt < libraryMs; at++) {
    const document = documents[at % documents.length] ?? '';
    await redactJson(document);
    characters += document.length;
  }
  return megabytesPerSecond(characters, performance.now() - startedAt);
}

const megabytesPerSecond = (characters: number, ms: number): number => characters / 1_000 / ms;

/** Typical results of a tool that lists things: names, counts, times, prices, a note. They hold nothing to redact. */
function ordinaryResults(length: number): readonly unknown[] {
  const item = (at: number): unknown => ({
    id: `item-${at}`,
    count: (at * 37) % 1000,
    at: `2026-0${1 + (at % 9)}-1${at % 10}T08:${10 + (at % 50)}:00Z`,
    price: ((at * 17) % 9999) / 100,
    tags: ['a', 'red', 'x1'],
    state: at % 3 === 0 ? 'closed' : 'open',
    note: 'checked by the shift, no fault seen',
  });
  return Array.from({ length: Math.ceil(length / JSON.stringify(item(1)).length) }, (_, at) => item(at));
}

/** Repeats the rows' texts and values, and joins them to results of some kilobytes. */
function documentsOf(rows: readonly Row[], total: number, each: number): readonly (readonly unknown[])[] {
  const documents: (readonly unknown[])[] = [];
  let items: unknown[] = [];
  let length = 0;
  for (let at = 0, done = 0; done < total && rows.length > 0; at++) {
    const { text = '', isJson = false } = rows[at % rows.length] ?? {};
    items.push(isJson ? JSON.parse(text) : { line: at, text });
    length += text.length;
    if (length < each) continue;
    documents.push(items);
    done += length;
    [items, length] = [[], 0];
  }
  return documents;
}
