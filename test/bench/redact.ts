// Redaction: what goes and what stays on the part of the corpus that nobody has read, beside two libraries; its speed against reading and
// writing the same JSON, and against those libraries; and R10, the worst inputs.
import { plainRedaction } from '@tollgate/proto/contract';
import { createNumbers, createRedactor } from '@tollgate/sidecar/redact';
import { isPositive, loadCorpus, type Row } from '../redact/corpus.ts';
import { createOpenRedaction, createSecretlint, createTollgate, type Library } from '../redact/libraries.ts';
import { damageOf, kindGroups, recallOf, type Score, scoreRows, secretGroups } from '../redact/score.ts';
import { atMost, comparePairs, type Result, timeBatch } from './measure.ts';
import { benchWorst } from './redact-worst.ts';

const payloadBytes = 1_000_000;
const libraryMs = 3_000;
// How often the time of reading and writing the same JSON, and of a library: secretlint has fifteen rules, none for personal data.
const roundTripTimesMax = 20;
const libraryTimesMax: Readonly<Record<string, number>> = { secretlint: 3, openredaction: 0.1 };
// Documents of this size, as tools answer them; one of the libraries takes no more at once in a time that can be waited for.
const documentBytes = 4_000;

export async function benchRedact(): Promise<readonly Result[]> {
  const libraries = [createTollgate(), createSecretlint(), createOpenRedaction()];
  const harmless = loadCorpus('development').rows.filter((row) => !isPositive(row));
  return [...(await quality(libraries)), speed(harmless), ...(await speedOfLibraries(libraries, harmless)), ...benchWorst()];
}

async function quality(libraries: readonly Library[]): Promise<readonly Result[]> {
  const { rows, problems } = loadCorpus('held-out');
  if (rows.length === 0 || problems.length > 0) throw new Error(`the held-out rows cannot be scored: ${problems.join('; ')}`);
  const scores: { readonly name: string; readonly score: Score }[] = [];
  for (const { name, redactText, redactJson } of libraries)
    scores.push({ name, score: await scoreRows(rows, ({ isJson, text }) => (isJson ? redactJson(text) : redactText(text))) });
  const result = (name: string, target: number, shareOf: (score: Score) => number): Result => {
    const [ours = Number.NaN, ...others] = scores.map(({ score }) => shareOf(score));
    const baseline = others.map((share, at) => `${scores[at + 1]?.name} ${(share * 100).toFixed(1)} %`).join(', ');
    return atMost({ name: `${name}, held out`, value: ours * 100, unit: '%', baseline, ratio: ours, target });
  };
  const missed = (kinds: Parameters<typeof recallOf>[1]) => (score: Score) => 1 - recallOf(score, kinds).recall;
  const targets = {
    'secrets by form': 0.03,
    'secrets by structure': 0.03,
    'secrets by name': 0.1,
    'structured personal data': 0.05,
    'other personal data': 0.05,
  };
  return [
    result('missed of secrets with a form or structure', 0.03, missed(secretGroups)),
    ...Object.entries(targets).map(([group, target]) => result(`missed of ${group}`, target, missed(kindsOf(group)))),
    result('changed of look-alikes', 0.01, (score) => damageOf(score).damage),
  ];
}

const kindsOf = (group: string) => Object.entries(kindGroups).find(([name]) => name === group)?.[1] ?? [];

/** A megabyte of tool results in one JSON text. There is little to find in it: that is what most calls are. */
function speed(rows: readonly Row[]): Result {
  const payload = JSON.stringify(documentsOf(rows, payloadBytes, documentBytes).map((result) => ({ ok: true, result })));
  const redactor = createRedactor(plainRedaction, []);
  // Replaced whole it would be fast, and of no use.
  const isWhole = redactor.redactJson(payload, createNumbers()).findings.some(({ kind }) => kind === 'over_budget');
  const ours = timeBatch(() => void redactor.redactJson(payload, createNumbers()));
  const roundTrip = timeBatch(() => void JSON.stringify(JSON.parse(payload)));
  const { ns, ratio } = comparePairs(ours, roundTrip, { batch: 5, rounds: 7 });
  const result = atMost({
    name: `redaction of 1 MB of tool results${isWhole ? ': too much work for one call' : ''}`,
    value: megabytesPerSecond(payload.length, ns / 1e6),
    unit: 'MB/s',
    baseline: 'JSON.parse and JSON.stringify of the same',
    ratio,
    target: roundTripTimesMax,
  });
  return isWhole ? { ...result, ok: false } : result;
}

async function speedOfLibraries([ours, ...others]: readonly Library[], rows: readonly Row[]): Promise<readonly Result[]> {
  const documents = documentsOf(rows, payloadBytes, documentBytes).map((result) => JSON.stringify({ ok: true, result }));
  if (ours === undefined) return [];
  const value = await throughput(ours, documents);
  const results: Result[] = [];
  for (const library of others) {
    const other = await throughput(library, documents);
    const times = libraryTimesMax[library.name] ?? 1;
    const baseline = `${library.name}, ${other.toPrecision(3)} MB/s`;
    results.push(atMost({ name: `redaction beside ${library.name}`, value, unit: 'MB/s', baseline, ratio: other / value, target: times }));
  }
  return results;
}

/** Of one after the other, for as long as is allowed; the first few are not counted. */
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

/** The rows' texts and values, over and over, put together to results of some kilobytes. */
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
