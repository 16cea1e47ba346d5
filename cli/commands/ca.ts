// `tollgate ca`: prints the certificate authorities with which sidecars verify the control plane.
import type { Command } from 'commander';
import { textIn } from '../api/answer.ts';
import { act, type Asked, type Cli } from '../command.ts';
import { escapeText } from '../print/escape.ts';

export function addCaCommand(program: Command, cli: Cli): void {
  program
    .command('ca')
    .description('print the authorities with which sidecars verify the control plane, as PEM; for TOLLGATE_CA')
    .action(act(cli, showAuthorities));
}

async function showAuthorities({ print, client }: Asked<object>): Promise<void> {
  const answer = await (await client()).ask('GET', '/api/v1/authorities');
  await print.lines(answer, textIn(answer, 'authorities').trimEnd().split('\n').map(escapeText));
}
