import { expect, test } from 'vitest';
import { delegationOf } from '../../../console/agents/delegation.ts';
import { entryOf } from './entries.ts';

test('a tool has the number of its calls by outcome, and no sign of the worst one', () => {
  const denied = { decision: 'deny', code: 'frozen', decisionReason: 'frozen: the workspace is frozen' } as const;
  const entries = [
    entryOf('a', { agentName: 'triage', tool: 'files.read' }),
    entryOf('b', { agentName: 'triage', tool: 'files.read' }),
    entryOf('c', { agentName: 'triage', tool: 'files.read', ...denied }),
    entryOf('d', { agentName: 'another', tool: 'files.read', ...denied }),
  ];
  const { nodes, edges, calls } = delegationOf(entries, 'triage', () => undefined);
  expect(calls).toBe(3);
  expect(nodes.filter(({ kind }) => kind === 'tool')).toEqual([
    { id: 'tool files.read', kind: 'tool', name: 'files.read', note: '2 allowed, 1 denied' },
  ]);
  expect(edges).toEqual([{ from: 'agent triage', to: 'tool files.read', note: '2 allowed, 1 denied' }]);
});
