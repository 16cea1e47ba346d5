// Shows what the hooks of a coding agent (the host) send. The sidecar answers each host in the format of that host.
// `tollgate hooks install <host>` writes the host's settings. Here the requests of Claude Code are sent by hand.
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
// This is the host's name for the tool. The rule above uses the name `github.create_issue` for the same tool.
console.log('mcp__github__create_issue:', await hook({ tool_name: 'mcp__github__create_issue', tool_input: { title: 'tolls' } }));
await sidecar.stop();
