// Runs the command line in this process, against a control plane that listens on real HTTP.
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { onTestFinished } from 'vitest';
import { runCli } from '../../cli/program.ts';
import type { Prompts, World } from '../../cli/world.ts';

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface Circumstances {
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  /** A user at the terminal, who gives these answers; null: no terminal. */
  readonly prompts?: Partial<Prompts> | null;
  /** Columns of a terminal on standard output; absent: standard output is no terminal. */
  readonly columns?: number;
  readonly now?: Date;
  readonly signal?: AbortSignal;
  readonly wait?: World['wait'];
  /** Receives standard output as it is written. */
  readonly heard?: (text: string) => void;
  readonly home?: string;
  readonly cwd?: string;
  readonly self?: string;
  /** Absent: `tollgate`. */
  readonly program?: typeof runCli;
}

const noAnswers: Prompts = {
  secret: async () => refuse('secret'),
  text: async () => refuse('text'),
  confirm: async () => refuse('confirm'),
};

function refuse(what: string): never {
  throw new Error(`no question was expected, but the question was ${what}`);
}

export async function run(words: readonly string[], circumstances: Circumstances = {}): Promise<Ran> {
  const { env = {}, stdin = '', prompts = null, columns, now = new Date(), signal, wait, heard, home = '/nowhere' } = circumstances;
  const { cwd = '/nowhere', self = 'tollgate', program = runCli } = circumstances;
  const out = sink(heard, columns);
  const err = sink();
  const code = await program(words, {
    env,
    version: '0.0.0-test',
    home,
    cwd,
    self,
    stdin: Readable.from([stdin]),
    stdout: out.stream,
    stderr: err.stream,
    prompts: prompts === null ? null : { ...noAnswers, ...prompts },
    now: () => now,
    random: () => 0,
    wait: wait ?? (async () => undefined),
    interruption: () => signal ?? new AbortController().signal,
  });
  return { code, out: out.text(), err: err.text() };
}

function sink(heard: (text: string) => void = () => {}, columns?: number) {
  let text = '';
  const stream = new Writable({
    decodeStrings: false,
    write: (chunk: string, _encoding, done) => {
      text += chunk;
      heard(chunk);
      done();
    },
  });
  return { stream: columns === undefined ? stream : Object.assign(stream, { isTTY: true, columns }), text: () => text };
}

/** The command line of a user who has a key. */
export const createCli =
  (origin: string, key: string, standing: Circumstances = {}) =>
  (words: readonly string[], circumstances: Circumstances = {}): Promise<Ran> =>
    run(words, { ...standing, ...circumstances, env: { TOLLGATE_URL: origin, TOLLGATE_KEY: key, ...standing.env, ...circumstances.env } });

/** An address where no process listens. */
export async function closedOrigin(): Promise<string> {
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const address = server.address();
  await new Promise((closed) => server.close(closed));
  return `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
}

/** A folder that is removed at the end of the test. */
export function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'tollgate-cli-'));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

/** The output of `--json`; throws where it is not a single JSON object. */
export function jsonOf({ out, code, err }: Ran): Readonly<Record<string, unknown>> {
  const value: unknown = JSON.parse(out);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error(`${code}: no object: ${out} ${err}`);
  return { ...value };
}
