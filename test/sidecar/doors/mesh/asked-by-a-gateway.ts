// The mesh's services over a listening sidecar, and clients that ask as Envoy and agentgateway do.
import { credentials } from '@grpc/grpc-js';
import {
  type CheckRequest,
  type CheckResponse,
  createAuthorizationClient,
  createExtMcpClient,
  type McpRequest,
  type McpRequestResult,
  type McpResponse,
  type McpResponseResult,
} from '@tollgate/proto/mesh';
import { Registry } from 'prom-client';
import { onTestFinished } from 'vitest';
import { BodyMemory } from '../../../../sidecar/doors/entrance/body-memory.ts';
import { createEntrance } from '../../../../sidecar/doors/entrance/entrance.ts';
import type { HttpTool } from '../../../../sidecar/upstream/http-tool-definition.ts';
import { startMesh } from '../../../../sidecar/doors/mesh/mesh.ts';
import type { Counters } from '../../../../sidecar/engine/limits/counters.ts';
import { exportSidecar } from '../../../../sidecar/app/metrics/sidecar.ts';
import type { Asked } from '../../../support/asked.ts';
import { createTestSidecar } from '../../../support/governing.ts';
import { keyText, type World } from '../../../support/snapshots.ts';
import { silentLog } from '../../../support/silent-log.ts';

export const own = keyText('key1');

const billing: HttpTool = {
  origin: 'http://billing',
  basePath: '',
  headers: {},
  forwardHeaders: [],
  methods: ['GET', 'POST', 'DELETE'],
  nameByMethod: true,
  timeoutMs: 1_000,
};

export async function startTestMesh(
  world: World | null = {},
  requestsPerSecond = 1_000,
  counters?: Counters,
  bodies = new BodyMemory(),
  asked?: Asked,
) {
  const sidecar = await createTestSidecar({ world, ...(counters === undefined ? {} : { counters }), ...asked });
  const failures: unknown[] = [];
  const mesh = await startMesh(
    {
      ...createEntrance({ sidecar, log: silentLog, metrics: exportSidecar(new Registry(), sidecar), requestsPerSecond, bodies }),
      httpTools: new Map([['billing', billing]]),
      failed: (error) => failures.push(error),
    },
    { host: '127.0.0.1', port: 0 },
  );
  onTestFinished(() => mesh.close(1_000));
  const envoy = createAuthorizationClient(mesh.address, credentials.createInsecure());
  const agentgateway = createExtMcpClient(mesh.address, credentials.createInsecure());
  onTestFinished(() => {
    envoy.close();
    agentgateway.close();
  });
  const check = (request: CheckRequest): Promise<CheckResponse> =>
    new Promise((done, fail) =>
      envoy.Check(request, (error, answer) => (answer === undefined ? fail(error ?? new Error('no answer')) : done(answer))),
    );
  const checkRequest = (request: McpRequest): Promise<McpRequestResult> =>
    new Promise((done, fail) =>
      agentgateway.CheckRequest(request, (error, answer) => (answer === undefined ? fail(error ?? new Error('no answer')) : done(answer))),
    );
  const checkResponse = (response: McpResponse): Promise<McpResponseResult> =>
    new Promise((done, fail) =>
      agentgateway.CheckResponse(response, (error, answer) =>
        answer === undefined ? fail(error ?? new Error('no answer')) : done(answer),
      ),
    );
  return { sidecar, failures, address: mesh.address, envoy, agentgateway, check, checkRequest, checkResponse };
}

export interface Http {
  readonly method?: string;
  readonly path?: string;
  readonly protocol?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  readonly route?: Readonly<Record<string, string>>;
}

/** The check that Envoy sends, with the key. */
export function httpCheck({
  method = 'POST',
  path = '/pay?to=bob',
  protocol = '',
  headers = {},
  body,
  route = { tollgate_tool: 'pay' },
}: Http = {}): CheckRequest {
  const length: Record<string, string> = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  return {
    attributes: {
      request: {
        http: {
          method,
          path,
          protocol,
          headers: { authorization: `Bearer ${own}`, ...length, ...headers },
          ...(typeof body === 'string' ? { body } : body === undefined ? {} : { rawBody: body }),
        },
      },
      contextExtensions: route,
    },
  };
}

export interface Answer {
  readonly code: number;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly removed: readonly string[];
  readonly body: string;
}

export function answerOf({ status, deniedResponse, okResponse }: CheckResponse): Answer {
  const headers = [...(deniedResponse?.headers ?? []), ...(okResponse?.headers ?? [])];
  return {
    code: status?.code ?? -1,
    status: deniedResponse?.status?.code ?? (okResponse ? 200 : 0),
    headers: Object.fromEntries(headers.map(({ header }) => [header?.key ?? '', header?.value ?? ''])),
    removed: okResponse?.headersToRemove ?? [],
    body: deniedResponse?.body ?? '',
  };
}

/** The request that agentgateway sends, with the key. */
export const mcpRequest = (method: string, params: object | string | null, fields: McpRequest = {}): McpRequest => ({
  serviceNames: ['github'],
  method,
  ...(params === null ? {} : { mcpRequest: Buffer.from(typeof params === 'string' ? params : JSON.stringify(params)) }),
  headers: [{ key: 'authorization', value: Buffer.from(`Bearer ${own}`) }],
  metadataContext: text({ tollgate_phase: 'full' }),
  ...fields,
});

/** The result that comes back, with the id that the request was given. */
export const mcpResponse = (method: string, result: object | string, call: string | null, fields: McpResponse = {}): McpResponse => ({
  serviceNames: ['github'],
  method,
  mcpResponse: Buffer.from(typeof result === 'string' ? result : JSON.stringify(result)),
  metadataContext: call === null ? null : text({ tollgate_call: call }),
  ...fields,
});

export const text = (values: Readonly<Record<string, string>>) => ({
  fields: Object.fromEntries(Object.entries(values).map(([name, stringValue]) => [name, { stringValue }])),
});

export const callOf = ({ metadata }: McpRequestResult): string => {
  const value = metadata?.fields?.['tollgate_call']?.stringValue;
  if (value === undefined) throw new Error('no id was left');
  return value;
};

export const jsonOf = (bytes: string | Buffer | Uint8Array | undefined): unknown => JSON.parse(Buffer.from(bytes ?? '').toString());
