// ask.mjs <who>: asks once whether it may run a tool, and ends with 0 where the call is allowed.
const { TOLLGATE_HOOKS_URL: hooks, TOLLGATE_KEY: key } = process.env;
const answer = await fetch(`${hooks}/tool-use`, {
  method: 'POST',
  headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
  body: JSON.stringify({
    tool_name: 'job.run',
    tool_input: { by: process.argv[2] },
    session_id: 'job',
    agent_name: 'someone',
    agent_tier: 'interactive',
  }),
});
const told = await answer.text();
process.stdout.write(`${answer.status} ${told}\n`);
process.exitCode = JSON.parse(told).decision === 'allow' ? 0 : 1;
