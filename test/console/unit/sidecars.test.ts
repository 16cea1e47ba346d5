// What the console says of a sidecar: how far it is behind and since when, and which of one name is the current one.
import { describe, expect, test } from 'vitest';
import { divide, type Sidecar } from '../../../console/sidecars/data.ts';
import { problemsOf } from '../../../console/sidecars/health.ts';

const now = Date.now();
const ago = (seconds: number): string => new Date(now - seconds * 1_000).toISOString();

const sidecar = (fields: Partial<Sidecar> = {}): Sidecar => ({
  id: 'edge-1',
  bootId: 'b1',
  form: 'process',
  keyId: 'k1',
  connected: true,
  connectedSince: ago(600),
  lastSeen: ago(0),
  controlPlane: 'c1',
  held: { epoch: 'e1', number: 7 },
  lag: { revisions: 0, seconds: 0 },
  behindSince: null,
  lastNack: null,
  lacks: [],
  status: null,
  ...fields,
});

const wordsOf = (one: Sidecar): readonly string[] => problemsOf(one).map(({ words }) => words);

describe('the words about a sidecar', () => {
  test('one that holds the newest revision has no problem', () => {
    expect(wordsOf(sidecar())).toEqual([]);
  });

  test('one that is connected and does not acknowledge is behind, with the time', () => {
    const [words] = wordsOf(sidecar({ lag: { revisions: 1, seconds: 125 }, behindSince: ago(125) }));
    expect(words).toMatch(/^1 revision behind for 2 min \(since .*\d\d:\d\d.*\)$/);
  });

  test('one that is gone says since when, and how far it is behind', () => {
    const gone = sidecar({ connected: false, lastSeen: ago(60), lag: { revisions: 3, seconds: 30 }, behindSince: ago(30) });
    expect(wordsOf(gone)).toEqual([expect.stringMatching(/^not connected since /), expect.stringMatching(/^3 revisions behind for 30 s /)]);
    expect(problemsOf(gone).map(({ tone }) => tone)).toEqual(['deny', 'limit']);
  });
});

describe('processes of one name', () => {
  const ended = sidecar({ bootId: 'old', connected: false, connectedSince: ago(600), lastSeen: ago(300) });
  const bootsOf = (all: readonly Sidecar[]): readonly string[] => all.map(({ bootId }) => bootId);

  test('one that ended before another of its name connected is replaced', () => {
    const { current, replaced } = divide([sidecar({ bootId: 'new', connectedSince: ago(200) }), ended]);
    expect([bootsOf(current), bootsOf(replaced)]).toEqual([['new'], ['old']]);
  });

  test('of several that are gone the newest is an outage', () => {
    const newer = sidecar({ bootId: 'newer', connected: false, connectedSince: ago(200), lastSeen: ago(100) });
    const { current, replaced } = divide([newer, ended]);
    expect([bootsOf(current), bootsOf(replaced)]).toEqual([['newer'], ['old']]);
  });

  test.each([
    ['of another name', { id: 'edge-2', connectedSince: ago(200) }],
    ['of another form', { form: 'library', connectedSince: ago(200) }],
    ['that was there while it was', { connectedSince: ago(400) }],
  ] as const)('one %s does not replace it', (_, fields) => {
    expect(divide([sidecar({ bootId: 'other', ...fields }), ended]).replaced).toEqual([]);
  });
});
