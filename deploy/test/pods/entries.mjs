// entries.mjs <guarantee> <record of the agent> <export of the log> [<limit>]: checks that the log matches what the
// agent recorded. Prints each error, and then ends with 1.
import { readFileSync } from 'node:fs';

const [guarantee, saidFile, exportFile, limit] = process.argv.slice(2);
// A kill may have cut the last line of a process.
const parse = (line) => {
  try {
    return [JSON.parse(line)];
  } catch {
    return [];
  }
};
const linesOf = (path) => readFileSync(path, 'utf8').split('\n').filter(Boolean);
const said = linesOf(saidFile).flatMap(parse);
const entries = exportFile === undefined ? [] : linesOf(exportFile).map((line) => JSON.parse(line));
const of = (event) => said.filter((line) => line.event === event);
const asked = new Map(of('asked').map((line) => [line.n, line]));
const decided = entries.filter(({ hookEvent }) => hookEvent === 'PreToolUse');
const ended = entries.filter(({ hookEvent }) => hookEvent === 'PostToolUse');
const grouped = (list, keyOf) => {
  const groups = new Map();
  for (const one of list) groups.set(keyOf(one), [...(groups.get(keyOf(one)) ?? []), one]);
  return groups;
};
const allowedCount = () => decided.filter(({ tool, decision }) => tool === 'notes.count' && decision === 'allow').length;

const guarantees = {
  'answered-once': () => {
    const byId = grouped(decided, ({ requestId }) => requestId);
    return of('answered').flatMap(({ n, decision, requestId }) => {
      const found = byId.get(requestId) ?? [];
      if (found.length !== 1) return [`${n} was answered as ${requestId}, of which there are ${found.length} entries`];
      const [{ tool, input, ...entry }] = found;
      const same = input?.n === n && tool === asked.get(n)?.tool && entry.decision === decision;
      return same ? [] : [`${n} was answered ${decision}, and its entry says ${JSON.stringify({ tool, input, decision: entry.decision })}`];
    });
  },
  'outcome-once': () => {
    const digests = new Map(decided.map(({ input, inputDigest }) => [input.n, inputDigest]));
    const byDigest = grouped(ended, ({ inputDigest }) => inputDigest);
    return of('done').flatMap(({ n }) => {
      const found = byDigest.get(digests.get(n)) ?? [];
      return found.length === 1 ? [] : [`what ${n} came to has ${found.length} entries`];
    });
  },
  'nothing-else': () => [
    ...decided.filter(({ input }) => !asked.has(input?.n)).map(({ requestId }) => `there was no call for ${requestId}`),
    ...[...grouped(decided, ({ input }) => input?.n)].flatMap(([n, found]) =>
      found.length === 1 ? [] : [`${n} has ${found.length} entries`],
    ),
    ...[...grouped(ended, ({ inputDigest }) => inputDigest)].flatMap(([digest, found]) =>
      found.length > 1 ? [`what came of ${digest} has ${found.length} entries`] : [],
    ),
    ...ended
      .filter(({ inputDigest }) => !decided.some((entry) => entry.inputDigest === inputDigest))
      .map(({ requestId }) => `there was no call for the outcome ${requestId}`),
  ],
  policy: () => {
    const counted = allowedCount();
    const refused = of('answered').filter(({ n, kind }) => asked.get(n)?.tool === 'notes.count' && kind === 'retry').length;
    return [
      ...decided
        .filter(({ tool, decision }) => tool !== 'notes.count' && decision !== (tool === 'notes.delete' ? 'deny' : 'allow'))
        .map(({ tool, decision, code, requestId }) => `${tool} was ${decision} (${code}): ${requestId}`),
      ...(counted > 0 && counted <= Number(limit) ? [] : [`${counted} calls were counted, where ${limit} may be`]),
      ...(refused > 0 ? [] : ['the limit refused nothing']),
      ...decided
        .filter(({ agentName, agentTier }) => agentName !== 'triage' || agentTier !== 'api')
        .map(({ agentName, agentTier }) => `an entry is of ${agentName}, ${agentTier}`),
    ];
  },
  // After its SIGTERM the app still received answers until its end.
  'answered-to-the-end': () => {
    const last = said.slice(said.findLastIndex(({ event }) => event === 'leaving'));
    return [
      ...(last[0]?.event === 'leaving' && last.at(-1)?.event === 'left' ? [] : ['the app did not end by itself']),
      ...(last.filter(({ event }) => event === 'answered').length > 10 ? [] : ['hardly a call was answered']),
      ...last.flatMap(({ event, why }) => (event === 'failed' ? [why] : [])),
    ];
  },
  figures: () => {
    const figures = {
      asked: asked.size,
      answered: of('answered').length,
      failed: of('failed').length,
      entries: entries.length,
      counted: allowedCount(),
    };
    process.stdout.write(
      `${Object.entries(figures)
        .map(([name, figure]) => `${figure} ${name}`)
        .join(', ')}\n`,
    );
    return [];
  },
};

const wrong = guarantees[guarantee]();
if (wrong.length > 0) process.stdout.write(`${wrong.length} are wrong\n${wrong.slice(0, 10).join('\n')}\n`);
process.exitCode = wrong.length === 0 ? 0 : 1;
