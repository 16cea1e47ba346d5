// An agent with the library inside: `node library-agent.js <URL of the library>`. It makes a governed call for each
// message that it receives, and answers when the tool has returned. Started by surroundings.ts.
const [, , library] = process.argv;
const { connect } = await import(library);
const { CONTROL_PLANE: controlPlane, KEY: key, SPOOL: spoolDir, AGENT: agent, TOOL: tool } = process.env;

const gate = await connect({ controlPlane, key, spoolDir });
const run = gate.run({ agent, tier: 'api' });
const call = run.guard(tool, async ({ path }) => ({ text: `content of ${path}, by bob@corp.io` }));

process.on('message', (input) => {
  call(input).then(
    () => process.send({ ok: true }),
    (error) => process.send({ ok: false, error: String(error) }),
  );
});
process.on('SIGTERM', () => void gate.close(0).then(() => process.exit()));
process.send({ ok: true });
