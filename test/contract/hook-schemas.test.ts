// What the API document says of the bodies of hooks is what the door accepts: a body that its schema refuses is malformed,
// and a body that its schema allows is not.
import { Ajv2020 } from 'ajv/dist/2020.js';
import { beforeAll, expect, test } from 'vitest';
import { readHookCostRequest, readHookOutputRequest, readHookRequest } from '../../sidecar/doors/hooks/hook-request.ts';
import { readApiDocument } from '../frozen/made/openapi.ts';
import { readOperations, type Schema } from '../support/api-document.ts';

let schemas: ReadonlyMap<string, Schema>;
beforeAll(async () => {
  const operations = readOperations(await readApiDocument());
  schemas = new Map(operations.flatMap(({ operationId, body }) => (body === null ? [] : [[operationId, body] as const])));
});

const ajv = new Ajv2020({ strict: false });
const read = (value: unknown) => ({ value, hasInexactNumbers: false, flaw: null, formerStatus: 400 });

const doors = [
  {
    operationId: 'governToolUse',
    base: { tool_name: 'search' },
    fields: ['wait_ms'],
    flawOf: (body: object) => readHookRequest(read(body), undefined, 'session').flaw,
  },
  {
    operationId: 'governToolOutput',
    base: { tool_name: 'search', tool_output: 'found' },
    fields: ['tool_output', 'is_error', 'model_usage'],
    flawOf: (body: object) => readHookOutputRequest(read(body), undefined, 'session', 100).flaw,
  },
  {
    operationId: 'governCost',
    base: { action: 'reserve', cost_id: 'c1', cents: 5, session_id: 's1' },
    fields: ['action', 'cost_id', 'cents', 'least_cents'],
    flawOf: (body: object) => readHookCostRequest(read(body), undefined).flaw,
  },
] as const;

const shared = ['session_id', 'agent_name', 'agent_tier', 'agent_chain', 'delegated_tools', 'client', 'permission_mode', 'impersonate_uid'];
const ofCalls = ['tool_name', 'call_id', 'tool_input', 'accepts', 'ci', 'agent_id'];

const names = (count: number): readonly string[] => Array.from({ length: count }, (_, at) => `n${at}`);
const values: readonly unknown[] = [
  null,
  '',
  'reserve',
  'settle',
  'api',
  'modified_input',
  'a'.repeat(200),
  'a'.repeat(201),
  true,
  false,
  0,
  -1,
  1.5,
  50_000,
  50_001,
  1e12,
  [],
  ['a'],
  [''],
  [null],
  ['a'.repeat(201)],
  names(20),
  names(21),
  names(64),
  names(65),
  names(1_000),
  names(1_001),
  {},
  { name: 'c' },
  { name: '' },
  { name: null },
  { name: 'c', version: null },
  { name: 'c', version: '' },
  { name: 'c', version: '1', more: 1 },
];

test.each(doors)('$operationId: a schema allows exactly what the door takes', ({ operationId, base, fields, flawOf }) => {
  const validate = ajv.compile(schemas.get(operationId) ?? { not: {} });
  expect([validate(base), flawOf(base)], 'the body without further fields').toEqual([true, null]);
  const differ: string[] = [];
  const count = { taken: 0, refused: 0 };
  for (const field of [...shared, ...(operationId === 'governCost' ? [] : ofCalls), ...fields]) {
    const { [field]: _, ...without } = base as Readonly<Record<string, unknown>>;
    for (const body of [without, ...values.map((value) => ({ ...base, [field]: value }))]) {
      const flaw = flawOf(body);
      if (flaw === null) count.taken += 1;
      else count.refused += 1;
      if (validate(body) !== (flaw === null))
        differ.push(
          `${JSON.stringify(body).slice(0, 200)}: ${flaw === null ? 'taken, and the schema refuses it' : `${flaw.words}, and the schema allows it`}`,
        );
    }
  }
  expect(differ).toEqual([]);
  expect(Math.min(count.taken, count.refused)).toBeGreaterThan(50);
});
