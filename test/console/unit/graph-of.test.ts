// The graph of a session: agents below each other, and the tools that each called.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { SessionCall } from '../../../console/calls/answer.ts';
import { type AgentNode, graphOf } from '../../../console/calls/graph-of.ts';
import { outcomes } from '../../../console/parts/outcome.tsx';
import { answerOf, at, entryOf } from './entries.ts';

const callOf = (requestId: string, more: Partial<SessionCall> = {}): SessionCall => ({
  requestId,
  agent: 'support',
  chain: [],
  tool: 'crm.read',
  outcome: 'allow',
  ts: at(0),
  ...more,
});

const graphFrom = (here: string, calls: readonly SessionCall[]) => graphOf(answerOf(here, { session: { calls, more: false } }));

describe('the graph of a session', () => {
  test('an agent that works for another is below it, with the tools that it called itself', () => {
    const { person, agents, nodes } = graphFrom('b', [
      callOf('a', { chain: ['support'] }),
      callOf('b', { agent: 'researcher', chain: ['support', 'researcher'], tool: 'web.fetch', outcome: 'deny' }),
    ]);
    expect([person, nodes]).toEqual(['mia@example.com', 4]);
    expect(agents).toMatchObject([
      {
        name: 'support',
        isHere: true,
        tools: [{ tool: 'crm.read', count: 1, isHere: false }],
        below: [{ name: 'researcher', isHere: true, tools: [{ tool: 'web.fetch', outcome: 'deny', isHere: true }], below: [] }],
      },
    ]);
  });

  test('the same agent twice in a chain is two agents; a tool with two outcomes is two', () => {
    const { agents } = graphFrom('a', [callOf('a', { chain: ['x', 'x'] }), callOf('b', { chain: ['x', 'x'], outcome: 'deny' })]);
    expect(agents[0]?.below[0]?.tools.map(({ outcome, count }) => [outcome, count])).toEqual([
      ['allow', 1],
      ['deny', 1],
    ]);
  });

  test('of calls of the same tool the newest is opened, and before all that of this page', () => {
    const calls = [callOf('old', { ts: at(1) }), callOf('new', { ts: at(9) }), callOf('here', { ts: at(5) })];
    const opened = (here: string) => graphFrom(here, calls).agents[0]?.tools[0];
    expect(opened('none')).toMatchObject({ count: 3, newest: { requestId: 'new' }, isHere: false });
    expect(opened('here')).toMatchObject({ count: 3, newest: { requestId: 'here' }, isHere: true });
  });

  test('without a session, or without an entry, there is nothing to draw', () => {
    expect(graphOf(answerOf('a', { session: null }))).toMatchObject({ agents: [], nodes: 0 });
    expect(graphOf({ ...answerOf('a', {}), before: null, after: null }).person).toBe('');
    expect(graphOf({ ...answerOf('a', {}), before: entryOf('a', { userEmail: '' }) }).person).toBe('mia');
  });

  const name = fc.constantFrom('a', 'b', '', '["a","b"]', '__proto__', 'constructor');
  const someCall = fc.record({
    chain: fc.array(name, { maxLength: 4 }),
    agent: name,
    tool: name,
    outcome: fc.constantFrom(...outcomes),
    second: fc.nat(99),
  });

  test('every call is counted once, under its own chain', () => {
    fc.assert(
      fc.property(fc.array(someCall, { maxLength: 60 }), fc.nat(59), (made, here) => {
        const calls = made.map(({ second, ...more }, n) => callOf(`r${n}`, { ...more, ts: at(second) }));
        const { agents, nodes } = graphFrom(`r${here}`, calls);
        const counted = new Map<string, number>();
        let hereCount = 0;
        let nodeCount = 0;
        const walk = (list: readonly AgentNode[], above: readonly string[]): void => {
          for (const { name: own, tools, below } of list) {
            nodeCount += 1 + tools.length;
            for (const { tool, outcome, count, isHere } of tools) {
              counted.set(JSON.stringify([[...above, own], tool, outcome]), count);
              hereCount += isHere ? 1 : 0;
            }
            walk(below, [...above, own]);
          }
        };
        walk(agents, []);
        const wanted = new Map<string, number>();
        for (const { chain, agent, tool, outcome } of calls) {
          const key = JSON.stringify([chain.length > 0 ? chain : [agent], tool, outcome]);
          wanted.set(key, (wanted.get(key) ?? 0) + 1);
        }
        expect(counted).toEqual(wanted);
        expect([nodes, hereCount]).toEqual([nodeCount, here < calls.length ? 1 : 0]);
      }),
    );
  });
});
