// The table of docs/doors/typescript-frameworks.md: each cell is a test here, in the real framework with a scripted model.
// Each looks at what the tool itself has done and at what the model received.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Run, startRun } from '../../sidecar/doors/library/library.ts';
import { keepApprovals } from '../../sidecar/engine/approvals/approval-keeper.ts';
import { terms } from '../support/approval-asks.ts';
import { ApprovalLedger } from '../support/approval-ledger.ts';
import { createTestSidecar, type TestSidecar } from '../support/governing.ts';
import { createManualClock } from '../support/manual-clock.ts';
import { document, ruleFor } from '../support/snapshots.ts';
import { aiSdk } from './ai-sdk.ts';
import { claudeAgentSdk } from './claude-agent-sdk.ts';
import type { Framework, Mail, Task } from './framework.ts';
import { langchain } from './langchain.ts';
import { mastra } from './mastra.ts';
import { type Model, startModel } from './model.ts';
import { openaiAgents } from './openai-agents.ts';

let model: Model;
beforeAll(async () => {
  model = await startModel();
});
afterAll(() => model.close());

type Rule = Parameters<typeof ruleFor>[1];

const sidecarWith = (rule: Rule): Promise<TestSidecar> =>
  createTestSidecar({ world: { documents: [ruleFor('mail.send', rule)], agents: [] } });

const runOf = (sidecar: TestSidecar): Run => startRun(sidecar, { agent: 'assistant', tier: 'interactive' });
const address = 'bob@acme-mail.eu';

interface Performed {
  /** What the tool received. */
  readonly sent: readonly Mail[];
  /** The results of tools that the model received. */
  readonly read: readonly string[];
  readonly text: string;
}

async function perform(framework: Framework, run: Run, task: Partial<Omit<Task, 'model' | 'run'>> = {}): Promise<Performed> {
  const sent: Mail[] = [];
  const send = async (mail: Mail): Promise<string> => {
    sent.push(mail);
    return (await task.send?.(mail)) ?? `sent to ${mail.to}`;
  };
  const text = await framework.perform({ ...task, model, run, send });
  return { sent, read: await model.read(), text };
}

// The AI SDK writes it into JSON.
const denied = /The call of \\?"mail\.send\\?" was not permitted: policy_denied: .* Trying again will not help/;

describe.each([openaiAgents, langchain, mastra, aiSdk, claudeAgentSdk])('$name', (framework) => {
  const call = (to = 'bob') => ({ tool: framework.tool, input: { to } });
  afterAll(() => framework.close?.());

  test('deny: the tool does not run', async () => {
    const sidecar = await sidecarWith({ permission: 'deny' });
    await model.answers([call()], 'I could not.');
    const { sent, text } = await perform(framework, runOf(sidecar));
    expect(sent).toEqual([]);
    expect(text).toBe('I could not.');
    expect(await sidecar.entries()).toMatchObject([{ tool: 'mail.send', decision: 'deny', code: 'policy_denied' }]);
  });

  test('reason: the model reads why', async () => {
    const sidecar = await sidecarWith({ permission: 'deny' });
    await model.answers([call()], 'I could not.');
    const { read } = await perform(framework, runOf(sidecar));
    expect(read).toEqual([expect.stringMatching(denied)]);
  });

  test('redact in: the tool receives the redacted input', async () => {
    const sidecar = await sidecarWith({ transform: 'redact' });
    await model.answers([call(address)], 'Done.');
    const { sent } = await perform(framework, runOf(sidecar));
    expect(sent).toEqual([{ to: '[redacted:email#1]' }]);
  });

  test('redact out: the model receives the redacted output', async () => {
    const sidecar = await sidecarWith({ transform: 'redact' });
    await model.answers([call()], 'Done.');
    const { sent, read } = await perform(framework, runOf(sidecar), { send: () => `forwarded to ${address}` });
    expect(sent).toEqual([{ to: 'bob' }]);
    expect(read).toEqual([expect.stringContaining('forwarded to [redacted:email#1]')]);
    expect(await sidecar.entries()).toMatchObject([{}, { outcome: { isError: false, action: 'redact' } }]);
  });

  async function asking() {
    const clock = createManualClock();
    const ledger = new ApprovalLedger(clock);
    const approvals = keepApprovals({ clock, random: () => 0.5, log: { info: () => undefined }, open: ledger.open });
    const rules = document({ tools: [['mail.send', [['interactive', { permission: 'ask', ask: terms }]]]] });
    const sidecar = await createTestSidecar({ world: { documents: [rules], agents: [] }, clock, approvals });
    return { ledger, sidecar };
  }

  test('approval: the call waits for the person, and is made once', async () => {
    const { ledger, sidecar } = await asking();
    await model.answers([call()], 'Done.');
    const performing = perform(framework, runOf(sidecar));
    await expect.poll(() => ledger.rows.length, { timeout: 20_000 }).toBe(1);
    expect(ledger.rows[0]?.ask.shownInput).toBe('{"to":"bob"}');
    ledger.approve('ap-1');
    const { sent, read } = await performing;
    expect(sent).toEqual([{ to: 'bob' }]);
    expect(read).toEqual([expect.stringContaining('sent to bob')]);
  });

  test('cancelled: a call that waits when its agent is aborted is never made', async () => {
    const { ledger, sidecar } = await asking();
    const stop = new AbortController();
    const sent: Mail[] = [];
    await model.answers([call()], 'Done.');
    const performing = perform(framework, runOf(sidecar), { signal: stop.signal, send: (mail) => String(sent.push(mail)) }).catch(
      () => 'aborted',
    );
    await expect.poll(() => ledger.rows.length, { timeout: 20_000 }).toBe(1);
    stop.abort();
    await performing;
    await expect.poll(async () => (await sidecar.entries()).map(({ code }) => code), { timeout: 20_000 }).toEqual(['caller_gone']);
    ledger.approve('ap-1');
    expect(sent).toEqual([]);
  });

  test('chain: the agent that is handed the work is a hop of the chain', async () => {
    const sidecar = await sidecarWith({ permission: 'allow' });
    await model.answers([framework.handOff], [call()], 'Done.', 'Done.');
    const { sent } = await perform(framework, runOf(sidecar), { handsOff: true });
    expect(sent).toEqual([{ to: 'bob' }]);
    const [decided] = (await sidecar.entries()).filter(({ tool }) => tool === 'mail.send');
    expect(decided).toMatchObject({
      agentName: 'clerk',
      depth: 1,
      agentTier: 'subagent',
      chain: [expect.stringContaining('assistant'), expect.stringContaining('clerk')],
    });
  });

  test('streaming: a denied call of a streamed answer is told to the model', async () => {
    const sidecar = await sidecarWith({ permission: 'deny' });
    await model.answers([call()], 'I could not.');
    const { sent, read, text } = await perform(framework, runOf(sidecar), { streams: true });
    expect(sent).toEqual([]);
    expect(read).toEqual([expect.stringMatching(denied)]);
    expect(text).toContain('I could not.');
  });

  test('parallel: each of several calls is decided and redacted by itself', async () => {
    const sidecar = await sidecarWith({ transform: 'redact', rateLimit: 2 });
    await model.answers([call('a@acme-mail.eu'), call('b@acme-mail.eu'), call('c')], 'Done.');
    const { sent, read } = await perform(framework, runOf(sidecar));
    expect(sent.map(({ to }) => to).toSorted()).toEqual(['[redacted:email#1]', '[redacted:email#2]']);
    expect(read).toHaveLength(3);
    expect(read[0]).toContain('sent to [redacted:email#1]');
    expect(read[1]).toContain('sent to [redacted:email#2]');
    expect(read[2]).toContain('rate_limited');
  });

  test('retry: a call that is made again is a call of its own', async () => {
    const sidecar = await sidecarWith({ rateLimit: 1 });
    const failing = { send: () => Promise.reject(new Error('busy')) };
    await (framework.retries === true ? model.answers([call()], 'Done.') : model.answers([call()], [call()], 'Done.'));
    const { sent, read } = await perform(framework, runOf(sidecar), { ...failing, ...(framework.retries === true ? { retries: 1 } : {}) });
    expect(sent).toHaveLength(1);
    expect(read.at(-1)).toContain('rate_limited');
    expect((await sidecar.entries()).map(({ hookEvent, code }) => [hookEvent, code])).toEqual([
      ['PreToolUse', 'allowed'],
      ['PostToolUse', expect.any(String)],
      ['PreToolUse', 'rate_limited'],
    ]);
  });

  test.runIf(framework.throws)('thrown if asked: the denial ends the agent, and the tool does not run', async () => {
    const sidecar = await sidecarWith({ permission: 'deny' });
    await model.answers([call()], 'I could not.');
    const sent: Mail[] = [];
    const performing = perform(framework, runOf(sidecar), { onDenied: 'throw', send: (mail) => String(sent.push(mail)) });
    await expect(performing).rejects.toThrow(denied);
    expect(sent).toEqual([]);
  });
});
