// `tollgate audit checkpoint`, `keys`, `gaps` and `verify`: create a checkpoint of the log, list its public keys and what is
// missing in it, and check an export against stored checkpoints and keys. `verify` needs no network: it reads only files.
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { createVerifier, type Kept, type LogKey, parseLogKey, parseNote, type Proven, type Verdict } from '@tollgate/proto/chain';
import { readAllPages } from '../api/all-pages.ts';
import { rowsIn, textIn } from '../api/answer.ts';
import { act, type Asked, type Cli, type ExitCode } from '../command.ts';
import { Failure } from '../failure.ts';
import { writeWhole } from '../files.ts';
import { writeAll } from '../print/print.ts';

const path = '/{workspace}/admin/audit';
const lineBytesMax = 16 * 1_048_576;

export function addProofCommands(group: Command, cli: Cli): void {
  group
    .command('checkpoint')
    .description('create a signed checkpoint of all received items, to be stored elsewhere')
    .option('-o, --output <file>', 'write it to this file')
    .option('--size <count>', 'print an earlier checkpoint with exactly this number of items')
    .action(act(cli, takeCheckpoint));
  group.command('keys').description('list the public keys with which checkpoints may be signed').action(act(cli, listKeys));
  group
    .command('gaps')
    .description('list where entries are missing because they never arrived, newest first')
    .option('--limit <count>', 'maximum number; default: 200')
    .option('--cursor <next>', 'continue after the previous answer')
    .action(act(cli, listGaps));
  group
    .command('verify')
    .argument('<export>', 'a file written by: audit export --proof')
    .description('check an export offline: exit code 0: valid, 1: changed, 2: cannot be checked')
    .option('--checkpoint <file...>', 'checkpoints that you have stored')
    .option('--public-key <key...>', 'keys with which checkpoints must be signed, or files with one key per line')
    .option('--retention-days <days>', 'retention of the entries, if the value in the checkpoints is not trusted')
    .option('--before-raise <file...>', 'if retention was raised: the last checkpoint before that')
    .action(act(cli, verifyExport));
}

interface CheckpointOptions {
  readonly output?: string;
  readonly size?: string;
}

async function takeCheckpoint({ world, options, print, client }: Asked<CheckpointOptions>): Promise<void> {
  const { output, size } = options;
  const { ask } = await client();
  const answer = size === undefined ? await ask('POST', `${path}/checkpoint`) : await ask('GET', `${path}/checkpoint`, { query: { size } });
  const note = textIn(answer, 'checkpoint');
  if (output !== undefined) {
    await writeWhole(output, note);
    print.note(
      `a checkpoint of ${String(answer['size'])} items is in ${output}; store it where no account with write access to the database can change it`,
    );
  } else if (print.json) await print.lines(answer, []);
  else await writeAll(world.stdout, note);
}

async function listKeys({ print, client }: Asked<object>): Promise<void> {
  const answer = await readAllPages(await client(), `${path}/keys`, 'keys');
  // Prints one key per line and nothing else, because --public-key reads this format.
  await print.lines(
    answer,
    rowsIn(answer, 'keys').map((row) => textIn(row, 'key')),
  );
}

async function listGaps({ options, print, client }: Asked<{ readonly limit?: string; readonly cursor?: string }>): Promise<void> {
  const { limit, cursor } = options;
  const answer = await (await client()).ask('GET', `${path}/gaps`, { query: { limit, cursor } });
  await print.table(answer, rowsIn(answer, 'gaps'), {
    empty: 'the log has no gaps',
    columns: [
      { head: 'known since', of: (row) => row['receivedAt'] },
      { head: 'item', of: (row) => row['n'] },
      { head: 'records', of: (row) => row['records'] },
      { head: 'spool', of: (row) => row['spoolId'] },
      { head: 'from', of: (row) => row['firstSequence'] },
      { head: 'reason', of: (row) => row['reason'] },
    ],
  });
  if ('next' in answer) print.note(`there is more: --cursor ${textIn(answer, 'next')}`);
}

interface VerifyOptions {
  readonly checkpoint?: readonly string[];
  readonly publicKey?: readonly string[];
  readonly retentionDays?: string;
  readonly beforeRaise?: readonly string[];
}

async function verifyExport({ words, options, print }: Asked<VerifyOptions>): Promise<ExitCode> {
  const [file = ''] = words;
  const verdict = await judge(file, options).catch((error: unknown): Verdict => {
    if (!(error instanceof Failure)) throw error;
    return { kind: 'unusable', words: error.message };
  });
  switch (verdict.kind) {
    case 'sound':
      await print.lines({ result: 'sound', ...verdict.proven }, linesOf(verdict.proven));
      return 0;
    case 'refused':
      await print.lines({ result: 'refused', reason: verdict.words }, []);
      print.note(`REFUSED: ${verdict.words}`);
      return 1;
    case 'unusable':
      await print.lines({ result: 'unusable', reason: verdict.words }, []);
      print.note(`cannot be checked: ${verdict.words}`);
      return 2;
  }
}

async function judge(file: string, options: VerifyOptions): Promise<Verdict> {
  const { checkpoint = [], publicKey = [], beforeRaise = [], retentionDays } = options;
  if (checkpoint.length === 0 && publicKey.length === 0)
    throw new Failure(
      'the export cannot be checked without a checkpoint or a key; give a stored checkpoint with --checkpoint, or a public key of the log with --public-key',
    );
  if (beforeRaise.length > 0 && retentionDays !== undefined)
    throw new Failure(
      '--before-raise and --retention-days cannot be used together: --before-raise uses the retention that the checkpoints state, but --retention-days replaces this retention; give only one of the two options',
    );
  const keys = (await Promise.all(publicKey.map(readKeys))).flat();
  const verifier = createVerifier({
    kept: await Promise.all(checkpoint.map(readKept)),
    beforeRaise: await Promise.all(beforeRaise.map(readKept)),
    keys,
    retentionDays: daysOf(retentionDays),
  });
  for await (const { line, isTorn } of fileLines(file)) {
    const verdict = isTorn ? verifier.end(true) : verifier.take(line);
    if (verdict !== null) return verdict;
  }
  return verifier.end(false);
}

function daysOf(text: string | undefined): number | null {
  if (text === undefined) return null;
  if (!/^[1-9]\d{0,4}$/.test(text)) throw new Failure('--retention-days must be an integer from 1 to 99999');
  return Number(text);
}

async function readKept(file: string): Promise<Kept> {
  const note = parseNote(plain(await textOf(file)));
  if (note === null)
    throw new Failure(`${file} is not a checkpoint of an audit log; create one with: tollgate audit checkpoint -o ${file}`);
  return { name: file, note };
}

/** Reads public keys. `given`: a key, or a file with one key per line. */
async function readKeys(given: string): Promise<readonly LogKey[]> {
  const own = parseLogKey(given);
  if (own !== null) return [own];
  const lines = (await textOf(given)).split('\n').filter((line) => line.trim() !== '');
  // With an empty list of keys, every signature would be accepted.
  if (lines.length === 0) throw new Failure(`${given} contains no public key; list the public keys with: tollgate audit keys`);
  return lines.map((line) => {
    const key = parseLogKey(line.trim());
    if (key === null)
      throw new Failure(
        `${given} contains a line that is not a public key of an audit log; list the public keys with: tollgate audit keys`,
      );
    return key;
  });
}

/**
 * Restores the original text, which the signature covers. Other programs may have changed its line ends or added blank
 * lines at its end, as psql does.
 */
export const plain = (text: string): string =>
  text
    .replace(/^\ufeff/, '')
    .replaceAll('\r\n', '\n')
    .replace(/\n+$/, '\n');

const textOf = (file: string): Promise<string> =>
  readFile(file, 'utf8').catch((error: unknown) => {
    throw unreadable(file, error);
  });

const unreadable = (file: string, error: unknown): Failure =>
  new Failure(`${file} cannot be read (${error instanceof Error && 'code' in error ? String(error.code) : 'unknown'})`, [], error);

/** Yields lines as bytes, without their line ends. `isTorn`: the last line has no line end, so it was cut off. */
async function* fileLines(file: string): AsyncGenerator<{ readonly line: Uint8Array; readonly isTorn: boolean }> {
  let rest: Buffer = Buffer.alloc(0);
  try {
    for await (const piece of createReadStream(file, { highWaterMark: 1_048_576 })) {
      let bytes: Buffer = rest.length === 0 ? Buffer.from(piece) : Buffer.concat([rest, Buffer.from(piece)]);
      for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10)) {
        yield { line: bytes.subarray(0, end), isTorn: false };
        bytes = bytes.subarray(end + 1);
      }
      rest = bytes;
      if (rest.length > lineBytesMax) throw new Failure(`${file} has a line of more than 16 MiB, so it is not an export of an audit log`);
    }
  } catch (error) {
    throw error instanceof Failure ? error : unreadable(file, error);
  }
  if (rest.length > 0) yield { line: rest, isTorn: true };
}

function linesOf(proven: Proven): readonly string[] {
  const { origin, after, upTo, entries, gaps, lostRecords, retired, keptUpTo, isBeginning } = proven;
  const count = (of: number, one: string): string => `${of.toLocaleString('en')} ${of === 1 ? one : one.replace(/y$/, 'ie') + 's'}`;
  const days = (of: number): string => `${of} ${of === 1 ? 'day' : 'days'}`;
  return [
    `OK  ${origin}`,
    `  items ${after + 1} to ${upTo}: ${count(entries, 'entry')}, ${count(gaps, 'gap')} (${count(lostRecords, 'record')} lost), ${count(retired, 'entry')} out of retention`,
    isBeginning && after > 0 ? `  the ${count(after, 'item')} before are older than the hash chain` : '',
    !isBeginning ? `  the ${count(after, 'item')} before are not in this export` : '',
    keptUpTo === null
      ? '  no stored checkpoint was given: a log that was shortened to an older checkpoint would not be detected'
      : keptUpTo > after || after === 0
        ? `  up to item ${keptUpTo} it agrees with your checkpoint`
        : `  it begins where your checkpoint of ${keptUpTo} items ends, or later: the items of that checkpoint are not in this export`,
    `  entries are kept for ${days(proven.retentionDays)}`,
    ...proven.earlierRetention.map(
      (one) => `  before, they were kept for ${days(one.days)}, by ${one.name}: entries before ${one.until} had been removed by then`,
    ),
    proven.signaturesChecked ? '  signed by a key that you gave' : '  signatures were not checked: no --public-key was given',
  ].filter((line) => line !== '');
}
