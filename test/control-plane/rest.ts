// The REST surface over a database of its own, with a clock that the test holds.
import { randomBytes } from 'node:crypto';
import type { Role, Scope } from '@tollgate/proto/contract';
import type { InjectOptions } from 'fastify';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { createApp } from '../../control-plane/http/app.ts';
import type { AppDeps } from '../../control-plane/http/deps.ts';
import { createWorkspace } from '../../control-plane/operations/create-workspace.ts';
import { seedFirstWorkspace } from '../../control-plane/operations/seed-first-workspace.ts';
import { createTestDatabase } from '../support/database.ts';

export interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers: InjectHeaders;
}

type InjectHeaders = Readonly<Record<string, number | string | string[] | undefined>>;

interface Question {
  readonly key?: string | null;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'HEAD' | 'OPTIONS';

export const operatorKey = 'operator-key-of-at-least-32-characters';

export async function createRest(overrides: Partial<Pick<AppDeps, 'defaults' | 'readiness'>> = {}) {
  const database = await createTestDatabase();
  const clock = { now: new Date('2026-06-25T12:00:00.000Z') };
  const lines: string[] = [];
  const deps: AppDeps = {
    pool: database.pool,
    clock: () => clock.now,
    random: randomBytes,
    defaults: { defaultPermission: 'allow', windowSeconds: 60 },
    config: { operatorKey, patchPerMinute: 30 },
    log: pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) }),
    registry: new Registry(),
    readiness: () => [],
    ...overrides,
  };
  const seeded = await seedFirstWorkspace(deps, { workspace: 'acme', ownerEmail: 'owner@acme.test', ownerKey: null });
  const owner = seeded.kind === 'created' ? (seeded.key ?? '') : '';
  const other = (await createWorkspace(deps, { slug: 'other', owner: { uid: 'olga', email: 'olga@other.test' } })).key;
  const app = createApp(deps);

  async function ask(method: Method, url: string, { key = owner, body, headers = {} }: Question = {}): Promise<Answer> {
    const options: InjectOptions = { method, url, headers: { ...(key === null ? {} : { authorization: `Bearer ${key}` }), ...headers } };
    const sent = body === undefined ? options : withPayload(options, body);
    const answer = await app.inject(sent);
    const isJson = String(answer.headers['content-type'] ?? '').startsWith('application/json');
    return {
      status: answer.statusCode,
      body: isJson && answer.body !== '' ? (JSON.parse(answer.body) as unknown) : answer.body,
      headers: answer.headers,
    };
  }

  /** A key of a member of that role, made when first asked for. */
  async function keyOf(role: Role, scopes: readonly Scope[] = ['*'], uid = `${role}-1`): Promise<string> {
    await ask('POST', '/acme/admin/members', { body: { uid, email: `${uid}@acme.test`, role } });
    return field(await ask('POST', '/acme/admin/keys', { body: { name: 'test', scopes, uid } }), 'key');
  }

  async function createAgent(body: object = {}): Promise<string> {
    return field(await ask('POST', '/api/v1/agents', { body: { name: 'agent', model: 'demo/echo', ...body } }), 'id');
  }

  const close = async (): Promise<void> => {
    await app.close();
    await database.close();
  };
  return { app, deps, pool: database.pool, clock, lines, owner, other, ask, keyOf, createAgent, close };
}

export type Rest = Awaited<ReturnType<typeof createRest>>;

function withPayload(options: InjectOptions, body: unknown): InjectOptions {
  // An object of ours goes out as JSON; text and bytes go out as they are.
  if (typeof body === 'string' || Buffer.isBuffer(body)) return { ...options, payload: body };
  return { ...options, payload: JSON.stringify(body), headers: { 'content-type': 'application/json', ...options.headers } };
}

/** A text in an answer's body. */
export function field({ status, body }: Answer, name: string): string {
  const value = typeof body === 'object' && body !== null ? Object.entries(body).find(([key]) => key === name)?.[1] : undefined;
  if (typeof value !== 'string') throw new Error(`no text ${name} in ${status} ${JSON.stringify(body)}`);
  return value;
}

export const errorOf = (answer: Answer): string => field(answer, 'error');
