// `tollgate audit export --proof`: exports the log as its hash chain. It is written byte for byte as received, because
// `verify` rejects any other form of a line as changed.
import { readFile } from 'node:fs/promises';
import { parseLine, parseNote } from '@tollgate/proto/chain';
import type { Row } from '../api/answer.ts';
import type { Asked, ExitCode } from '../command.ts';
import { Failure, Outage } from '../failure.ts';
import { writeStream } from '../files.ts';
import { writeAll } from '../print/print.ts';
import { linesOf } from '../api/streams.ts';
import { plain } from './audit-proof.ts';

interface Options {
  readonly output?: string;
  readonly proof?: true;
  readonly after?: string;
}

/** `filters`: options that exclude entries. They are not allowed with a proof. */
export async function exportProof({ world, options, print, client }: Asked<Options>, filters: Row): Promise<ExitCode> {
  const { output, proof, after } = options;
  const [filter] = Object.keys(filters);
  if (proof !== true) throw new Failure('--after needs --proof');
  if (filter !== undefined) throw new Failure(`--${filter} excludes entries, but --proof needs all entries; remove one of the two options`);
  if (output === undefined && world.stdout.isTTY === true)
    throw new Failure('a proof is not printed on a terminal: give a file with -o, or use a pipe');
  const query = after === undefined ? {} : { after: await sizeOf(after) };
  const signal = world.interruption();
  let items = -2;
  try {
    const pieces = await (await client()).stream('GET', '/{workspace}/admin/audit/chain', { query, signal });
    const copy = async (write: (text: string) => Promise<void>): Promise<void> => {
      let last = '';
      for await (const line of linesOf(pieces)) {
        await write(`${line}\n`);
        last = line;
        items += 1;
      }
      if (parseLine(last)?.kind !== 'checkpoint')
        throw new Outage('the answer of the control plane ended before its last line, which must be a checkpoint; run the export again');
    };
    if (output === undefined) await copy((text) => writeAll(world.stdout, text));
    else await writeStream(output, copy);
  } catch (error) {
    if (!signal.aborted) throw error;
    print.note(output === undefined ? 'interrupted' : `interrupted; the received part is in ${output}.partial`);
    return 130;
  }
  print.note(`${items} items and their checkpoint${output === undefined ? '' : ` in ${output}`}`);
  return 0;
}

async function sizeOf(after: string): Promise<number> {
  if (/^\d{1,15}$/.test(after)) return Number(after);
  const text = await readFile(after, 'utf8').catch((error: unknown) => {
    throw new Failure(`the value of --after must be a number or a file that can be read, but is ${after}`, [], error);
  });
  const note = parseNote(plain(text));
  if (note === null) throw new Failure(`${after} is not a checkpoint of an audit log`);
  return note.checkpoint.size;
}
