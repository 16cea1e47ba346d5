// Checks the decision tables of test/cases against the reference and against `decide`.
import { describe, expect, it } from 'vitest';
import { type ExpectedDecision, loadCases } from '../support/cases.ts';
import { without } from './edit.ts';
import * as reference from './reference.ts';
import * as subject from './subject.ts';
import type { Outcome } from './world.ts';

const cases = loadCases();

/** Returns the fields of the outcome that the table states. */
function seen({ rule, ...outcome }: Outcome, want: ExpectedDecision): unknown {
  const all = { ...outcome, layer: rule?.layer, part: rule?.part, path: rule?.path, override: rule?.override };
  const named = Object.keys(want).filter((key) => key !== 'reason');
  return Object.fromEntries(
    Object.entries({ ...all, shadow: outcome.shadow ?? undefined }).filter(([key]) => named.includes(key) || always.includes(key)),
  );
}

/** A field that is absent in a table must be absent in the outcome. */
const always = ['decision', 'code', 'layer', 'part', 'path', 'override', 'shadow'];

const wanted = (want: ExpectedDecision): unknown => without(want, 'reason');

describe.each([...new Set(cases.map(({ file }) => file))])('%s', (file) => {
  for (const { name, world, calls } of cases.filter((one) => one.file === file)) {
    const made = calls.map(({ call }) => call);
    it(`${name}: reference`, () => {
      const outcomes = reference.decideCalls(world, made);
      expect(outcomes.map((outcome, i) => seen(outcome, calls[i]?.want ?? never))).toEqual(calls.map(({ want }) => wanted(want)));
      for (const [i, { call, entry }] of calls.entries()) {
        // The reference knows only those fields of an entry that docs/design/semantics.md describes.
        const known: Record<string, unknown> = {
          ...reference.entryOf(world, call),
          decision: outcomes[i]?.decision,
          code: outcomes[i]?.code,
          transform: outcomes[i]?.storedTransform,
        };
        const named = Object.entries(entry).filter(([field]) => Object.hasOwn(known, field));
        expect(known).toMatchObject(Object.fromEntries(named));
      }
    });

    it(`${name}: decide`, () => {
      const outcomes = subject.decideCalls(world, made);
      expect(outcomes.map((outcome, i) => seen(outcome, calls[i]?.want ?? never))).toEqual(calls.map(({ want }) => wanted(want)));
      for (const [i, entry] of subject.auditEntriesOf(world, made).entries())
        checkEntry(entry, calls[i]?.entry ?? {}, calls[i]?.want ?? never);
    });
  }
});

const never: ExpectedDecision = { decision: 'deny', code: 'no such call' };

function checkEntry(entry: Readonly<Record<string, unknown>>, fields: Readonly<Record<string, unknown>>, want: ExpectedDecision): void {
  const found = Object.fromEntries(Object.keys(fields).map((field) => [field, entry[field] ?? null]));
  expect(found).toEqual(fields);
  expect(String(entry['decisionReason']).slice(0, want.reason?.length ?? 0)).toBe(want.reason ?? '');
}

describe('the decision tables', () => {
  it('hold at least forty cases', () => {
    expect(cases.length).toBeGreaterThanOrEqual(40);
  });

  it('name each case once', () => {
    const names = cases.map(({ file, name }) => `${file}: ${name}`);
    expect(new Set(names).size).toBe(names.length);
  });

  it.each(cases)('$file: $name: its documents are valid to store', ({ world }) => {
    expect(subject.problemsOf(world)).toEqual([]);
  });

  it('state which rule decides whenever a rule decides', () => {
    const byRule = ['allowed', 'policy_denied', 'rate_limited'];
    const silent = cases.flatMap(({ file, name, calls }) =>
      calls.filter(({ want }) => byRule.includes(want.code) !== (want.path !== undefined)).map(() => `${file}: ${name}`),
    );
    expect(silent).toEqual([]);
  });
});
