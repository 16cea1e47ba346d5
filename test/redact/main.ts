// `npm run redact:score [-- families] [held-out] [misses]`: prints recall and damage on the development part of the
// corpus, of Tollgate and of two libraries by kind, and of Tollgate by family. `families` leaves out the first table.
// `held-out` scores that part instead, whose rows are shown to no one. `misses` lists what Tollgate got wrong.
import { families, loadCorpus, loadFamily, type Part } from './corpus.ts';
import { scoreFamily, scoreSizes, scoreTexts } from './families.ts';
import { createOpenRedaction, createSecretlint, createTollgate, type Library } from './libraries.ts';
import { type Score, scoreRows } from './score.ts';
import { loadSizes, type SizeScore } from './sizes.ts';
import { linesOf, renderFamilies, renderScores } from './table.ts';

const words = ['development', 'families', 'held-out', 'misses'];
const asked = process.argv.slice(2);
const print = (text: string): void => void process.stdout.write(`${text}\n`);
const refuse = (text: string): never => {
  process.stderr.write(`${text}\n`);
  process.exit(2);
};
const unknown = asked.filter((word) => !words.includes(word));
if (unknown.length > 0) refuse(`there is no ${unknown.join(', ')}; there are ${words.join(', ')}`);
const part: Part = asked.includes('held-out') ? 'held-out' : 'development';
if (part === 'held-out' && (asked.includes('misses') || asked.includes('development')))
  refuse('the held-out part is scored alone, and its misses are shown to no one');

for (const { problems } of [
  loadCorpus(part),
  ...families.map((family) => (family === 'sizes' ? loadSizes(part) : loadFamily(part, family))),
])
  for (const problem of problems) process.stderr.write(`${problem}\n`);

if (asked.includes('misses')) print(await misses(createTollgate()));
else {
  if (!asked.includes('families')) await printKinds();
  const scores = [];
  for (const family of families) scores.push(await scoreFamily(part, family, createTollgate()));
  print(`# ${part}, by family: recall of values, and harmless rows that were changed`);
  print(renderFamilies(scores));
}

async function printKinds(): Promise<void> {
  const scores = [];
  for (const library of [createTollgate(), createSecretlint(), createOpenRedaction()])
    scores.push({ name: library.name, lines: linesOf(await scoreCorpus(library)) });
  print(`# ${part}: recall of values (rows in which more went), and look-alikes that were damaged`);
  print(`${renderScores(scores)}\n`);
}

function scoreCorpus({ redactText, redactJson }: Library): Promise<Score> {
  return scoreRows(loadCorpus(part).rows, ({ isJson, text }) => (isJson ? redactJson(text) : redactText(text)));
}

async function misses(library: Library): Promise<string> {
  const scores = asked.includes('families') ? [] : [await scoreCorpus(library)];
  for (const family of families) if (family !== 'sizes') scores.push(await scoreTexts(part, family, library));
  const sizes = await scoreSizes(part, library);
  return [...scores.flatMap(missesOf), ...sizes.flatMap(missesOfSize)].toSorted().join('\n');
}

/** Lists missed values, damaged rows and excess redaction: id, kind or likeness, and the output. */
function missesOf({ positives, negatives }: Score): readonly string[] {
  const positive = positives.map(({ row, output, values, gone, isExcess }) => {
    const what = gone < values ? `missed ${values - gone} of ${values}` : isExcess ? 'more than should' : null;
    return what === null ? null : `${what}\t${row.id} ${row.kind}\t${excerpt(row.text, output, row.values)}`;
  });
  const negative = negatives.map(({ row, output, isDamaged }) =>
    isDamaged ? `damaged\t${row.id} ${row.like}\t${excerpt(row.text, output, [])}` : null,
  );
  return [...positive, ...negative].filter((line) => line !== null);
}

function missesOfSize({ row, values, gone, isExcess, isWhole, isDamaged }: SizeScore): readonly string[] {
  const { make, lines, seed } = row.payload;
  const missed = gone < values ? `missed ${values - gone} of ${values}` : isExcess ? 'more than should' : null;
  const what = isWhole ? 'replaced whole' : isDamaged ? 'damaged' : missed;
  return what === null ? [] : [`${what}\t${row.id} ${row.kind ?? 'harmless'}\t${lines} lines of ${make}, seed ${seed}`];
}

/** Returns the text around the first value that is left, or around the first mark. */
function excerpt(text: string, output: string, values: readonly string[]): string {
  const left = values.map((value) => output.indexOf(value)).find((at) => at !== -1);
  const changed = output.split('').findIndex((character, at) => character !== text[at]);
  const at = Math.max(0, (left ?? changed) - 60);
  return JSON.stringify(output.slice(at, at + 180)).slice(1, -1);
}
