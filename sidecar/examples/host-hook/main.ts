// What a coding agent's own hooks send: the sidecar answers each host in its words. `tollgate hooks install <host>` writes the host's
// settings; here the requests of Claude Code are sent by hand.
import { addRules, key } from '../plane.ts';
import { startSidecar } from '../sidecar.ts';

await addRules({
  'github.create_issue': { interactive: { permission: 'deny' } },
});

const sidecar = await startSidecar({});
const asked = { session_id: 'claude-1', cwd: '/srv', hook_event_name: 'PreToolUse' };

async function hook(body: object): Promise<string> {
  const answer = await fetch(`${sidecar.url}/hooks/claude-code`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...asked, ...body }),
  });
  return answer.text();
}

console.log('Read:', await hook({ tool_name: 'Read', tool_input: { file_path: '/srv/README.md' } }));
// The host's name for the tool, and the one that rules are written for.
console.log('mcp__github__create_issue:', await hook({ tool_name: 'mcp__github__create_issue', tool_input: { title: 'tolls' } }));
await sidecar.stop();
