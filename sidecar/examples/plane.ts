// Reads from the environment which control plane the examples use, and the key: `npm start` prints these values. Run an
// example with `TOLLGATE_KEY=gsk_… node sidecar/dist/examples/library/main.js`.
const { TOLLGATE_REST = 'http://127.0.0.1:8080', TOLLGATE_GRPC = '127.0.0.1:8081', TOLLGATE_KEY } = process.env;

/**
 * A key with the scope `*`, such as the owner's key. The examples need it, because they write the rules that they show.
 */
export const key = TOLLGATE_KEY ?? fail('TOLLGATE_KEY is missing; set it to the owner key that `npm start` printed at its first start');
export const rest = TOLLGATE_REST;
export const grpc = TOLLGATE_GRPC;
const workspace = key.split('_')[1];

/** Calls the REST API. Throws if the API refuses the request. */
export async function ask(method: string, path: string, body?: object): Promise<Readonly<Record<string, unknown>>> {
  const response = await fetch(rest + path, {
    method,
    headers: { authorization: `Bearer ${key}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const answer = (await response.json()) as Readonly<Record<string, unknown>>;
  return response.ok ? answer : fail(`${method} ${path}: ${response.status} ${JSON.stringify(answer)}`);
}

/** Adds rules to the workspace's policy. The existing rules are kept. */
export const addRules = (tools: object): Promise<unknown> => ask('PUT', `/${workspace}/admin/workspacePolicy`, { tools });

function fail(why: string): never {
  throw new Error(why);
}
