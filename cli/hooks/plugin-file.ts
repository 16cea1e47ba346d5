// Writes our plugin for hosts that load plugins (OpenCode and Cline): the whole file is ours, in a folder of the host.
// A file that is not ours is neither overwritten nor removed. A plugin is plain JavaScript without dependencies. It
// starts `tollgate hook` for each call, and denies the call if `tollgate hook` does not answer. The text depends only
// on the command, so that an edited file can be recognised.
import type { HostName } from '@tollgate/proto/contract';
import { commandOf, type HostFacts, type HostSettings, limitSecondsFor } from './host.ts';
import { BadSettings } from './settings-file.ts';
import { lineProblem, readHookLine } from './command-line.ts';
import { pathsOf, platformOf } from './paths.ts';

interface InOwnFile extends Omit<HostFacts, 'before' | 'home'> {
  readonly folder: HostSettings['folder'];
  /** Returns the whole content of the file. */
  readonly written: (command: string) => string;
}

export function inOwnFile(host: HostName, { written, folder, ...facts }: InOwnFile): HostSettings {
  const { title, programs, notes, file, projectFile } = facts;
  const commandOfOurs = (text: string): string | null => {
    const command = commandIn(text);
    return command !== null && readHookLine(host, command) !== null ? command : null;
  };
  return {
    title,
    programs,
    notes,
    folder,
    file: (scope, here, project) => (scope === 'user' ? pathsOf(here).join(folder(here), file) : pathsOf(here).join(project, projectFile)),
    add: (text, way) => {
      if (text !== '' && commandOfOurs(text) === null)
        throw new BadSettings(text, 0, 'tollgate did not write this file, so tollgate does not replace it; rename the file');
      return { text: written(commandOf(way)), made: [] };
    },
    remove: (text) => (commandOfOurs(text) === null ? text : ''),
    isBare: (text) => text === '',
    ours: (text) => (commandOfOurs(text) === null ? null : text),
    deniesByItself: true,
    installed: (text, on = {}) => {
      const command = commandOfOurs(text);
      if (command === null) return null;
      const shell = platformOf(on) === 'win32' ? 'cmd' : 'sh';
      const edited = text === written(command) ? [] : ['the file differs from what this tollgate writes; run tollgate hooks install again'];
      const line = lineProblem(host, command, shell);
      return { way: { kind: 'command', command, shell }, gaps: line === null ? edited : [...edited, line] };
    },
  };
}

/** The first line of each plugin file that we write. */
export const pluginMark = '// tollgate: this file is written by `tollgate hooks install`, and removed by `tollgate hooks uninstall`.';

const commandLine = /^const command = (".*");$/m;

/** Returns the command that our plugin file starts; null: the file is not ours. */
export function commandIn(text: string): string | null {
  if (!text.startsWith(`${pluginMark}\n`)) return null;
  try {
    const command: unknown = JSON.parse(commandLine.exec(text)?.[1] ?? '');
    return typeof command === 'string' ? command : null;
  } catch {
    return null;
  }
}

/**
 * Returns the code that both plugins share: it asks tollgate, and treats everything that is not a valid answer as a
 * denial.
 */
const asking = (command: string, waitMs: number): string => `${pluginMark}
import { spawn } from 'node:child_process';

const command = ${JSON.stringify(command)};
const waitMs = ${waitMs};
const bytesMax = 16 * 1024 * 1024;

/** What \`tollgate hook\` answers; what it does not answer is a refusal. */
function ask(refused, input) {
  const refuse = (why) => ({ decision: refused, reason: \`outage: \${why}\` });
  return new Promise((resolve) => {
    let said = '';
    let child;
    const timer = setTimeout(() => end(refuse(\`tollgate did not answer within \${waitMs / 1000} s\`)), waitMs);
    function end(answer) {
      clearTimeout(timer);
      child?.kill();
      resolve(answer);
    }
    try {
      child = spawn(command, { shell: true, stdio: ['pipe', 'pipe', 'ignore'], windowsHide: true });
      child.on('error', (error) => end(refuse(\`the program tollgate could not be started (\${error.message})\`)));
      child.stdout.setEncoding('utf8').on('data', (more) => {
        said += more;
        if (said.length > bytesMax) end(refuse('tollgate answered too much'));
      });
      child.on('close', (code) => end(answerIn(said, code, refused) ?? refuse(wordsOf(code))));
      child.stdin.on('error', () => undefined);
      child.stdin.end(JSON.stringify(input));
    } catch (error) {
      end(refuse(error.message));
    }
  });
}

const wordsOf = (code) => \`the program tollgate could not be started, or failed (\${code}); run tollgate hooks install again\`;

function answerIn(said, code, refused) {
  try {
    const answer = JSON.parse(said);
    if (answer.decision === refused && typeof answer.reason === 'string' && answer.reason !== '') return answer;
    const permits = refused === 'deny' ? 'allow' : 'pass';
    return code === 0 && answer.decision === permits ? answer : null;
  } catch {
    return null;
  }
}
`;

const opencodeHooks = `
const keptMax = 1000;

export const Tollgate = async () => {
  const children = new Map();
  // By the call: our own refusals, and what the model is told of an error that no hook was given.
  const refused = new Set();
  const errors = new Map();
  const about = ({ tool, sessionID, callID }) => ({
    tool,
    sessionID,
    callID,
    ...(children.has(sessionID) ? { parentID: children.get(sessionID) } : {}),
  });
  const refuse = (callID, reason) => {
    keep(refused, () => refused.add(callID));
    throw new Error(reason);
  };
  async function toldOf({ tool, sessionID, callID, state }) {
    if (refused.has(callID)) return state.error;
    const known = errors.get(callID);
    if (known?.error === state.error) return known.told;
    const failed = { args: state.input ?? {}, output: state.error, isError: true };
    const answer = await ask('block', { hook_event_name: 'tool.execute.after', ...about({ tool, sessionID, callID }), ...failed });
    const told = answer.decision === 'pass' ? (answer.output ?? state.error) : answer.reason;
    if (!told.startsWith('outage: ')) keep(errors, () => errors.set(callID, { error: state.error, told }));
    return told;
  }
  return {
    // A sub-agent has a session of its own, which names the one that it was started in.
    event: async ({ event }) => {
      const { id, parentID } = event?.properties?.info ?? {};
      if (event?.type !== 'session.created' || !id || !parentID) return;
      keep(children, () => children.set(id, parentID));
    },
    'tool.execute.before': async (input, output) => {
      const answer = await ask('deny', { hook_event_name: 'tool.execute.before', ...about(input), args: output.args });
      if (answer.decision !== 'allow') refuse(input.callID, answer.reason);
      if (answer.input !== undefined) replaceIn(output.args, answer.input);
    },
    'tool.execute.after': async (input, output) => {
      if (!output) return;
      // Of its own tools the model reads the text, of a server's tool what the server answered.
      const isText = typeof output.output === 'string';
      const told = isText ? output.output : output;
      const answer = await ask('block', { hook_event_name: 'tool.execute.after', ...about(input), args: input.args, output: told });
      if (answer.decision !== 'pass') refuse(input.callID, answer.reason);
      if (answer.output === undefined) return;
      if (isText) output.output = answer.output;
      else replaceIn(output, answer.output);
    },
    // A call that throws reaches no hook: its error is asked about before the model is told of it.
    'experimental.chat.messages.transform': async (_input, output) => {
      for (const { parts } of output?.messages ?? [])
        for (const part of parts ?? [])
          if (part.type === 'tool' && part.state?.status === 'error' && typeof part.state.error === 'string')
            part.state = { ...part.state, error: await toldOf(part) };
    },
  };
};

function keep(kept, put) {
  put();
  if (kept.size > keptMax) kept.delete(kept.keys().next().value);
}

/** The tool holds on to the object that it was given. */
function replaceIn(object, changed) {
  for (const key of Object.keys(object)) delete object[key];
  Object.assign(object, changed);
}
`;

const clineHooks = `
const deniedMax = 1000;
const denied = new Set();

const about = ({ snapshot, toolCall, tool, input }) => ({
  toolName: toolCall?.toolName ?? tool?.name,
  toolCallId: toolCall?.toolCallId,
  conversationId: snapshot?.conversationId ?? snapshot?.runId ?? snapshot?.agentId,
  ...(snapshot?.parentAgentId ? { parentAgentId: snapshot.parentAgentId } : {}),
  input,
});

export const plugin = {
  name: 'tollgate',
  manifest: { capabilities: ['hooks'] },
  hooks: {
    beforeTool: async (asked) => {
      const call = about(asked);
      const answer = await ask('deny', { hook_event_name: 'beforeTool', ...call });
      if (answer.decision === 'allow') return answer.input === undefined ? undefined : { input: answer.input };
      denied.add(call.toolCallId);
      if (denied.size > deniedMax) denied.delete(denied.values().next().value);
      return { skip: true, reason: answer.reason };
    },
    afterTool: async (asked) => {
      const call = about(asked);
      // Cline tells of a call that it did not run too.
      if (denied.delete(call.toolCallId)) return undefined;
      const { output, isError } = asked.result ?? {};
      const answer = await ask('block', { hook_event_name: 'afterTool', ...call, output: output ?? null, isError: isError === true });
      if (answer.decision !== 'pass') return { result: { output: { error: answer.reason }, isError: true } };
      return answer.output === undefined ? undefined : { result: { ...asked.result, output: answer.output } };
    },
  },
};

export default plugin;
`;

/** More than the time limit of `tollgate hook`. */
const opencodeWaitMs = (command: string): number => limitSecondsFor(readHookLine('opencode', command)?.waitMs ?? null) * 1_000;
/** Shorter than 3 s: if a hook takes 3 s, Cline ends the whole run without informing the model. */
const clineWaitMs = 2_500;

export const pluginTexts = {
  opencode: (command: string): string => asking(command, opencodeWaitMs(command)) + opencodeHooks,
  cline: (command: string): string => asking(command, clineWaitMs) + clineHooks,
} as const;
