// The model of the frameworks: `test/support/model-process.ts`, which answers by a script and keeps what it receives.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

interface Message {
  readonly role: string;
  readonly content: string | readonly { readonly text?: string }[] | null;
}

interface WantedCall {
  readonly tool: string;
  readonly input: unknown;
}

export interface Model {
  readonly url: string;
  /** From now on it answers these turns, and has received nothing. */
  answers(...turns: readonly (string | readonly WantedCall[])[]): Promise<void>;
  /** The results of tools that it received, in the last request. */
  read(): Promise<readonly string[]>;
  close(): void;
}

export async function startModel(): Promise<Model> {
  const path = fileURLToPath(new URL('../support/model-process.ts', import.meta.url));
  const child = spawn(process.execPath, ['--import', 'tsx', path], { stdio: ['ignore', 'pipe', 'inherit'] });
  const urls: Record<string, string> = {};
  for await (const line of createInterface(child.stdout)) {
    const [name = '', url = ''] = line.split(' ');
    urls[name] = url;
    if (name === 'script') break;
  }
  const { model = '', script = '' } = urls;
  return {
    url: model,
    answers: async (...turns) => {
      await (await fetch(script, { method: 'PUT', body: JSON.stringify(turns) })).text();
    },
    read: async () => {
      const requests = (await (await fetch(script)).json()) as readonly { readonly messages: readonly Message[] }[];
      return (requests.at(-1)?.messages ?? []).filter(({ role }) => role === 'tool').map(textOf);
    },
    close: () => void child.kill('SIGTERM'),
  };
}

const textOf = ({ content }: Message): string =>
  typeof content === 'string' ? content : (content ?? []).map(({ text }) => text ?? '').join('\n');
