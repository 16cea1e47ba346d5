// The person who answers, at a second terminal: `tollgate approvals …`, with a key that only answers.
import { mkdir } from 'node:fs/promises';
import { eventually } from '../support/programs.ts';
import { type ProgramEnd, runProgram } from './run-program.ts';

export interface Person {
  /** Ends the questions that are left, so that the next one is the only one. */
  clear(): Promise<void>;
  /** Waits until a person is asked, and returns the id of the approval. */
  asked(): Promise<string>;
  approve(id: string): Promise<void>;
  /** The state of the approval, as the command line prints it. */
  state(id: string): Promise<string>;
}

const commandMs = 30_000;
/** Longer than an agent takes to start. */
const askedMs = 120_000;

interface Terminal {
  /** The command line. */
  readonly program: string;
  readonly folder: string;
  /** The control plane, and the key of the person. */
  readonly url: string;
  readonly key: string;
}

export async function startPerson({ program, folder, url, key }: Terminal): Promise<Person> {
  await mkdir(folder);
  const env = { PATH: process.env['PATH'] ?? '', HOME: folder, TOLLGATE_URL: url, TOLLGATE_KEY: key };
  const approvals = async (...words: readonly string[]): Promise<ProgramEnd['text']> => {
    const { code, text } = await runProgram([process.execPath, program, 'approvals', ...words], { cwd: folder, env, limitMs: commandMs });
    if (code !== 0) throw new Error(`tollgate approvals ${words.join(' ')} ended with ${code}:\n${text}`);
    return text;
  };
  const pending = async (): Promise<readonly string[]> => {
    const answer: { readonly approvals: readonly { readonly id: string }[] } = JSON.parse(await approvals('list', '--json'));
    return answer.approvals.map(({ id }) => id);
  };
  return {
    clear: async () => {
      const ids = await pending();
      if (ids.length > 0) await approvals('cancel', ...ids);
    },
    asked: async () => (await eventually(pending, (ids) => ids.length > 0, askedMs))[0] ?? '',
    approve: async (id) => void (await approvals('approve', id, '--yes')),
    state: async (id) => JSON.parse(await approvals('show', id, '--json')).state,
  };
}
