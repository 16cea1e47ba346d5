// What the workspace of the demo says, in documents as they go over REST. Calls of tier `api`, tools of the MCP server
// `everything`.
import { type Rest, RestRefused } from './rest.ts';

export const workspace = 'demo';
const admin = `/${workspace}/admin`;

const forTool = (tool: string, rule: object): object => ({ tools: { [`everything.${tool}`]: { api: rule } } });

export interface Keys {
  /** For the library: receives policy, asks for decisions, names the user whom an agent works for. */
  readonly agents: string;
  /** For the sidecar process. */
  readonly sidecar: string;
  /** Mia's own. */
  readonly mia: string;
}

/** People first, so that policy finds them. */
export async function makeMembersAndKeys(owner: Rest): Promise<Keys> {
  await owner('POST', `${admin}/members`, { uid: 'mia', email: 'mia@example.com', role: 'member' });
  const key = async (name: string, scopes: readonly string[], rest: object = {}): Promise<string> =>
    (await owner<{ readonly key: string }>('POST', `${admin}/keys`, { name, scopes, ...rest })).key;
  return {
    agents: await key('agents', ['sidecar.library', 'govern', 'govern.impersonate']),
    sidecar: await key('sidecar', ['sidecar.sync']),
    mia: await key('mia', ['govern', 'policies.read', 'policies.write'], { uid: 'mia' }),
  };
}

/** One document for each layer, broad to specific. */
export async function writePolicies(owner: Rest, mia: Rest): Promise<void> {
  await owner('PUT', `${admin}/workspacePolicy`, { defaults: { api: { permission: 'allow', transform: 'redact' } } });
  await owner('PUT', `${admin}/rolePolicies/member`, forTool('get-structured-content', { rateLimit: 2 }));
  const agentType = encodeURIComponent('ai-sdk::api::scout');
  await owner('PUT', `${admin}/agentTypePolicies/${agentType}`, {
    mode: 'audit-only',
    ...forTool('gzip-file-as-resource', { permission: 'deny' }),
  });
  await mia('PUT', `${admin}/userPolicies/mia`, forTool('get-env', { permission: 'deny' }));
}

/** Caps are no policy: no mode softens them. */
export async function registerScout(owner: Rest): Promise<void> {
  const tools = ['echo', 'get-structured-content', 'get-env', 'gzip-file-as-resource', 'get-sum'];
  await owner('POST', '/api/v1/agents', {
    name: 'scout',
    model: 'demo/echo',
    enabledTools: tools.map((tool) => `everything.${tool}`),
    maxToolCalls: 6,
  });
}

/** Mia wants her data in the clear. The workspace says redact, and a member cannot loosen that. Answers the refusal. */
export async function loosenOwn(mia: Rest): Promise<RestRefused> {
  try {
    await mia('PUT', `${admin}/userPolicies/mia`, forTool('echo', { transform: 'log' }));
  } catch (error) {
    if (error instanceof RestRefused && error.status === 403) return error;
    throw error;
  }
  throw new Error('a member loosened the policy of the workspace, and the control plane did not refuse it');
}

/** The change in the middle of the run. */
export const denyEcho = (owner: Rest): Promise<unknown> =>
  owner('PUT', `${admin}/workspacePolicy`, forTool('echo', { permission: 'deny' }));
