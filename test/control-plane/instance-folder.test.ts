// Decides which control planes of a folder are dead: only a killed process of this machine is.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { openInstanceFolder } from '../../control-plane/runs/operations/liveness/instance-folder.ts';
import { exitOf, startSource } from '../support/source-process.ts';
import { temporaryFolder } from '../support/spools.ts';

test('a killed process is known as dead immediately, a live one or one of another machine is not', async () => {
  const folder = temporaryFolder();
  const start = async (instance: string, host = 'here') => {
    const child = startSource('hold-instance.ts', folder, instance, host);
    await once(child.stdout, 'data');
    return child;
  };
  const kill = (child: Awaited<ReturnType<typeof start>>) => {
    child.kill('SIGKILL');
    return exitOf(child);
  };
  const [killed, , elsewhere] = [await start('killed'), await start('alive'), await start('elsewhere', 'there')];
  await Promise.all([kill(killed), kill(elsewhere)]);

  const mine = await openInstanceFolder(folder, { instance: 'mine', host: 'here', randomId: randomUUID });
  expect(mine.dead).toEqual(['killed']);
  await mine.forget();
  expect(readdirSync(folder).toSorted()).toEqual(['alive', 'elsewhere', 'mine']);
  const next = await openInstanceFolder(folder, { instance: 'next', host: 'here', randomId: randomUUID });
  expect(next.dead).toEqual([]);
  await mine.close();
  await next.close();
  expect(readdirSync(folder).toSorted()).toEqual(['alive', 'elsewhere']);
});
