// `npm run redact:score [-- development] [misses]`: prints recall and damage of Tollgate and of two libraries, by kind,
// for each part of the corpus. `misses` lists what Tollgate got wrong in the development part. Rows of the held-out
// part are shown to no one.
import { loadCorpus, type Part, parts } from './corpus.ts';
import { createOpenRedaction, createSecretlint, createTollgate, type Library } from './libraries.ts';
import { type Score, scoreRows } from './score.ts';
import { linesOf, renderScores } from './table.ts';

const asked = process.argv.slice(2);
const print = (text: string): void => void process.stdout.write(`${text}\n`);
const unknown = asked.filter((word) => word !== 'misses' && word !== 'development');
if (unknown.length > 0) {
  process.stderr.write(`there is no ${unknown.join(', ')}; there are development, misses\n`);
  process.exit(2);
}

if (asked.includes('misses')) print(missesOf(await scorePart('development', createTollgate())));
else
  for (const part of asked.includes('development') ? (['development'] as const) : parts) {
    const scores = [];
    for (const library of [createTollgate(), createSecretlint(), createOpenRedaction()])
      scores.push({ name: library.name, lines: linesOf(await scorePart(part, library)) });
    print(`# ${part}: recall of values (rows in which more went), and look-alikes that were damaged`);
    print(`${renderScores(scores)}\n`);
  }

async function scorePart(part: Part, { redactText, redactJson }: Library): Promise<Score> {
  const { rows, problems } = loadCorpus(part);
  for (const problem of problems) process.stderr.write(`${problem}\n`);
  return scoreRows(rows, ({ isJson, text }) => (isJson ? redactJson(text) : redactText(text)));
}

/** Lists missed values, damaged rows and excess redaction: id, kind or likeness, and the output. */
function missesOf({ positives, negatives }: Score): string {
  const positive = positives.map(({ row, output, values, gone, isExcess }) => {
    const what = gone < values ? `missed ${values - gone} of ${values}` : isExcess ? 'more than should' : null;
    return what === null ? null : `${what}\t${row.id} ${row.kind}\t${excerpt(row.text, output, row.values)}`;
  });
  const negative = negatives.map(({ row, output, isDamaged }) =>
    isDamaged ? `damaged\t${row.id} ${row.like}\t${excerpt(row.text, output, [])}` : null,
  );
  return [...positive, ...negative]
    .filter((line) => line !== null)
    .toSorted()
    .join('\n');
}

/** Returns the text around the first value that is left, or around the first mark. */
function excerpt(text: string, output: string, values: readonly string[]): string {
  const left = values.map((value) => output.indexOf(value)).find((at) => at !== -1);
  const changed = output.split('').findIndex((character, at) => character !== text[at]);
  const at = Math.max(0, (left ?? changed) - 60);
  return JSON.stringify(output.slice(at, at + 180)).slice(1, -1);
}
