// How a workspace maps the names of hosts to its own, over HTTP: what may be written, what a sidecar receives, and what
// explain returns.
import { toolNamesMax } from '@tollgate/proto/contract';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { compileSettings } from '../../sidecar/engine/compile/compile.ts';
import { readWorkspaceState } from '../../control-plane/workspaces/store/workspace-state.ts';
import { createRest, type Rest } from './rest.ts';

let rest: Rest;
beforeEach(async () => {
  rest = await createRest();
});
afterEach(() => rest.close());

const path = '/acme/admin/workspacePolicy';
const toolNames = { codex: { Bash: 'shell', 'gh__*': 'github.*' }, 'claude-code': { Bash: 'shell' } };
const put = (body: unknown, at = path) => rest.ask('PUT', at, { body });

async function compiled(): Promise<unknown> {
  const { rows } = await rest.pool.query<{ id: number }>('select id from workspace where slug = $1', ['acme']);
  const state = await readWorkspaceState(rest.pool, rows[0]?.id ?? 0);
  if (state === null) throw new Error('the workspace is gone');
  return compileSettings(state, rest.deps.defaults).toolNames;
}

test('is stored as sent, merged, and compiled into sorted lists by host', async () => {
  expect(await compiled()).toEqual([]);
  expect((await put({ toolNames })).status).toBe(200);
  expect((await rest.ask('GET', path)).body).toEqual({ toolNames });
  expect(await compiled()).toEqual([
    ['claude-code', [['Bash', 'shell']]],
    [
      'codex',
      [
        ['Bash', 'shell'],
        ['gh__*', 'github.*'],
      ],
    ],
  ]);
  await put({ toolNames: { codex: { Bash: null }, 'claude-code': null } });
  expect(await compiled()).toEqual([['codex', [['gh__*', 'github.*']]]]);
});

test.each([
  [{ emacs: {} }, 'toolNames.emacs', 'is not a field here'],
  [{ codex: { Bash: 7 } }, 'toolNames.codex["Bash"]', 'must be a string'],
  [{ codex: { Bash: '' } }, 'toolNames.codex["Bash"]', 'must not be empty'],
  [{ codex: { '': 'shell' } }, 'toolNames.codex[""]', 'must not be empty'],
  [{ codex: { 'gh_*': 'github' } }, 'toolNames.codex["gh_*"]', 'must end in .*'],
  [{ 'claude-code': { Bash: 'shell.*' } }, 'toolNames["claude-code"]["Bash"]', 'must be one name'],
  [{ codex: Object.fromEntries(Array.from({ length: toolNamesMax + 1 }, (_, at) => [`t${at}`, 'x'])) }, 'toolNames.codex', 'at most 1000'],
])('%j is refused with its place', async (section, place, words) => {
  const { status, body } = await put({ toolNames: section });
  expect(status).toBe(400);
  expect(JSON.stringify(body).replaceAll('\\"', '"')).toContain(place);
  expect(JSON.stringify(body)).toContain(words);
  expect(await compiled()).toEqual([]);
});

test('belongs to the workspace document only', async () => {
  expect((await put({ toolNames }, '/acme/admin/rolePolicies/member')).status).toBe(400);
});

test('explain lists how hosts name the tool, and by which row', async () => {
  await put({ toolNames: { codex: { Bash: 'shell', 'gh__*': 'github.*', gh__merge: 'merge' } } });
  const explained = async (tool: string): Promise<unknown> => {
    const body = { role: 'member', agentType: 'codex::interactive::', tier: 'interactive', tool };
    const answer = await rest.ask('POST', '/acme/admin/explain', { body });
    return Object(answer.body)['toolNames'];
  };
  expect(await explained('shell')).toEqual([{ host: 'codex', name: 'Bash', path: 'toolNames.codex["Bash"]' }]);
  expect(await explained('github.issue')).toEqual([{ host: 'codex', name: 'gh__issue', path: 'toolNames.codex["gh__*"]' }]);
  expect(await explained('github.merge')).toBeUndefined();
  expect(await explained('other')).toBeUndefined();
});
