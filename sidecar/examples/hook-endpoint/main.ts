// Shows hooks without a library: a program in any language asks over HTTP before and after a tool call. Here the
// control plane itself answers. A sidecar process next to the agent answers the same requests without a round trip to
// the control plane.
import { addRules, key, rest } from '../plane.ts';

await addRules({
  'files.delete': { api: { permission: 'deny' } },
  'files.read': { api: { transform: 'redact' } },
});

const call = { tool_name: 'files.read', tool_input: { path: '/etc/motd' }, session_id: 'nightly-1', call_id: 'c1', agent_tier: 'api' };
const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'x-gs-client': 'nightly-job/1.0' };

async function govern(hook: 'tool-use' | 'tool-output', body: object): Promise<Readonly<Record<string, unknown>>> {
  const answer = await fetch(`${rest}/govern/${hook}`, { method: 'POST', headers, body: JSON.stringify(body) });
  return (await answer.json()) as Readonly<Record<string, unknown>>;
}

const before = await govern('tool-use', { ...call, accepts: ['modified_input'] });
console.log(call.tool_name, before['decision']);
const after = await govern('tool-output', { ...call, tool_output: 'Ask ada@acme-mail.eu' });
console.log('the model reads:', after['modified_output']);
const denied = await govern('tool-use', { ...call, tool_name: 'files.delete', call_id: 'c2' });
console.log('files.delete', denied['decision'], denied['kind'], '-', denied['reason']);
