// One row of a table of the API description: method and path, and each status it names, with its condition.
import { describe, expect, test } from 'vitest';
import type { Answer } from '../control-plane/rest.ts';

export interface Case {
  readonly status: number;
  readonly when: string;
  readonly ask: () => Promise<Answer>;
  /** The expected body; by default `{error: <text>}` for a status that is not 2xx. */
  readonly body?: unknown;
}

export function row(name: string, cases: readonly Case[]): void {
  describe(name, () => {
    for (const { status, when, ask, body } of cases) {
      test(`${status} ${when}`, async () => {
        const answer = await ask();
        expect(answer).toMatchObject({ status });
        expect(answer.headers['content-type']).toMatch(/^application\/json/);
        const otherwise = status < 300 ? containing({ ok: true }) : containing({ error: expect.stringMatching(/.+/) });
        expect(answer.body).toEqual(body ?? otherwise);
      });
    }
  });
}

export const containing = (fields: object): unknown => expect.objectContaining(fields);
export const written = (fields: object = {}): unknown => ({ ok: true, revision: expect.any(Number), ...fields });
