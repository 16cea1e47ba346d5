// Runs the agent of the demo: an ordinary AI SDK loop over an ordinary MCP client. Tollgate adds only `run.guard`
// around each tool and `run.round()` before each round of the model.
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { Run, Verdict } from '@tollgate/sidecar';
import { dynamicTool, generateText, jsonSchema, stepCountIs } from 'ai';
import { createScriptedModel, type Script } from './model.ts';
import type { Stage } from './stage.ts';

/**
 * Starts an MCP server from npm as a process that uses its standard input and output, and returns a connected client.
 */
export async function startMcpServer(stage: Stage): Promise<Client> {
  const program = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'));
  const transport = new StdioClientTransport({ command: process.execPath, args: [program, 'stdio'], stderr: 'ignore' });
  const client = new Client({ name: 'tollgate-demo', version: '0.1.0' });
  let closing = false;
  stage.undo(() => {
    closing = true;
    return transport.close();
  });
  const onclose = (): void => {
    if (!closing) stage.fail(new Error('the MCP server ended unexpectedly'));
  };
  Object.assign(client, { onclose });
  await client.connect(transport);
  return client;
}

export interface AgentOptions {
  readonly name: string;
  readonly script: Script;
  readonly task: string;
  /** Called before each round, counted from 0. */
  readonly beforeRound?: (round: number) => Promise<void> | void;
}

const roundsMax = 50;

/** Runs the agent to its end, and returns its final text. */
export async function runAgent(run: Run, mcp: Client, { name, script, task, beforeRound }: AgentOptions): Promise<string> {
  const { tools } = await mcp.listTools();
  const guarded = tools.map((tool) => {
    const call = run.guard(`everything.${tool.name}`, (input: object) => mcp.callTool({ name: tool.name, arguments: { ...input } }));
    const execute = (input: unknown): Promise<unknown> => call(input as object);
    return [tool.name, dynamicTool({ description: tool.description ?? '', inputSchema: jsonSchema(tool.inputSchema), execute })] as const;
  });
  const { text } = await generateText({
    model: createScriptedModel(name, script),
    prompt: task,
    tools: Object.fromEntries(guarded),
    stopWhen: stepCountIs(roundsMax),
    prepareStep: async ({ stepNumber }) => {
      await beforeRound?.(stepNumber);
      run.round();
      return {};
    },
  });
  return text;
}

export interface ShownDecision {
  /** Ms since 1970, with fractions. */
  readonly at: number;
  readonly waitedUs: number;
  readonly verdict: Verdict;
}

/**
 * Shows each verdict as its caller received it, and how long the caller waited for it. During this time the call was
 * decided and its entry was written to the spool. `guard` calls `run.decide`, so every call is seen here. `onAsked` is
 * called when a call begins to wait for a person; its verdict is shown after `onAsked` has ended.
 */
export function watch(run: Run, show: (seen: ShownDecision) => void, onAsked: (approvalId: string) => Promise<void>): Run {
  const decide = run.decide.bind(run);
  run.decide = async (call, options) => {
    let asking: Promise<void> = Promise.resolve();
    const startedAt = performance.now();
    const verdict = await decide(call, {
      ...options,
      onAsked: (approvalId) => {
        asking = onAsked(approvalId);
      },
    });
    const waitedUs = (performance.now() - startedAt) * 1000;
    await asking;
    show({ at: performance.timeOrigin + startedAt, waitedUs, verdict });
    return verdict;
  };
  return run;
}
