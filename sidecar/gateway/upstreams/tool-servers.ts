// Which tool servers are behind this sidecar, and how each is reached: those of the gateway file, and those that the control
// plane has defined, by name. The file wins. What the control plane defines comes with every snapshot, so a change is felt
// as fast as a rule; it never brings the values of headers and variables, which the file has. And it brings the wishes of a
// workspace, not of whoever runs this sidecar: its programs are started only if `TOLLGATE_TOOL_COMMANDS` names them, and its
// addresses must be public.
//
// States: a server stays the same object while what is known of it is the same; one that is defined anew, or no longer, ends
// with all its programs, and another takes its place.
import type { CompiledServer, CompiledTarget } from '@tollgate/proto/contract';
import { serverUrlProblem } from '@tollgate/proto/contract';
import type { Index } from '../../decide/build-index.ts';
import type { Reach, ToolServer, ToolServers } from '../mcp/upstream.ts';
import type { FileServer, GatewayFile } from './gateway-file.ts';
import { type ProgramDeps, createPrograms } from './programs.ts';
import { createAgent, createPublicOnlyAgent, literalAddressProblem, type Resolve } from './public-only.ts';

interface UpstreamRules {
  /** Plain HTTP, and addresses that are not public. */
  readonly allowPrivate: boolean;
  /** Programs that the control plane may have started here. */
  readonly commands: readonly string[];
}

export interface UpstreamDeps extends ProgramDeps {
  readonly file: GatewayFile;
  readonly rules: UpstreamRules;
  readonly resolve: Resolve;
}

export interface Upstreams extends ToolServers {
  /** A new snapshot: ends what it no longer defines, or defines otherwise. */
  follow(index: Index): void;
  /** Ends every program and connection. */
  close(): Promise<void>;
}

interface Held extends ToolServer {
  readonly definition: string;
  admitted: ToolServer['admitted'];
  /** That which `admitted` is of, for as long as it is held; null: the server has ended, and only what is still open to it holds it. */
  index: Index | null;
  readonly end: () => Promise<void>;
}

type Target = Extract<FileServer, { kind: 'url' | 'command' }> | CompiledTarget;

export function createUpstreams({ file, rules, resolve, ...programs }: UpstreamDeps): Upstreams {
  const open = createAgent();
  const guarded = createPublicOnlyAgent(resolve);
  const held = new Map<string, Held>();
  const ending = new Set<Promise<void>>();

  const end = (server: Held): void => {
    held.delete(server.name);
    server.index = null;
    const ended = server.end().finally(() => ending.delete(ended));
    ending.add(ended);
  };

  const make = (name: string, target: Target, index: Index, definition: string): Held => {
    let endPrograms = (): Promise<void> => Promise.resolve();
    const overStreams = (command: Parameters<typeof createPrograms>[1]): Reach => {
      const started = createPrograms(programs, command);
      endPrograms = started.close;
      return { kind: 'program', open: started.open };
    };
    const unreachable = (problem: string): Reach => ({ kind: 'unreachable', problem });
    const reachOf = (): Reach => {
      if ('admitted' in target) {
        const { kind } = target;
        return kind === 'url'
          ? { kind: 'http', url: new URL(target.url), headers: target.headers, dispatcher: open }
          : overStreams({ program: target.program, args: target.args, env: target.env, cwd: target.cwd });
      }
      const problem = targetProblem(target, rules) ?? missing(name, target, file.mcpServers.get(name));
      if (problem !== null) return unreachable(problem);
      const values = valuesOf(file.mcpServers.get(name));
      if (target.kind === 'command') return overStreams({ ...target, env: values.env, cwd: null });
      return { kind: 'http', url: new URL(target.url), headers: values.headers, dispatcher: rules.allowPrivate ? open : guarded };
    };
    return { name, reach: reachOf(), definition, index, admitted: admittedOf(file, index, name), end: () => endPrograms() };
  };

  const find = (index: Index, name: string): ToolServer | null => {
    const target = targetOf(file, index, name);
    const known = held.get(name);
    if (target === null) {
      if (known !== undefined) end(known);
      return null;
    }
    if (known !== undefined && known.index === index) return known;
    const definition = JSON.stringify(target);
    if (known !== undefined && known.definition === definition)
      return Object.assign(known, { index, admitted: admittedOf(file, index, name) });
    if (known !== undefined) end(known);
    const made = make(name, target, index, definition);
    held.set(name, made);
    return made;
  };

  return {
    find,
    follow: (index) => {
      for (const name of held.keys()) find(index, name);
    },
    close: async () => {
      for (const server of held.values()) end(server);
      await Promise.all([...ending, open.destroy(), guarded.destroy()]);
    },
  };
}

/** Null where nobody defines one of that name, or where it is an HTTP tool here. */
function targetOf(file: GatewayFile, index: Index, name: string): Target | null {
  const own = file.mcpServers.get(name);
  if (own !== undefined && own.kind !== 'values') return own;
  return file.httpTools.has(name) ? null : (index.servers.get(name)?.target ?? null);
}

function admittedOf(file: GatewayFile, index: Index, name: string): ToolServer['admitted'] {
  if (index.settings.toolDefinitions !== 'pinned') return null;
  const own = file.mcpServers.get(name);
  const said = own === undefined || own.kind === 'values' ? null : own.admitted;
  const theirs: CompiledServer['admitted'] = index.servers.get(name)?.admitted ?? [];
  return new Map(said === null ? theirs : Object.entries(said));
}

/** Why the operator of this sidecar does not let it be reached. */
function targetProblem(target: CompiledTarget, { allowPrivate, commands }: UpstreamRules): string | null {
  if (target.kind === 'command')
    return commands.includes(target.program) ? null : 'is a program that TOLLGATE_TOOL_COMMANDS of this sidecar does not name';
  const problem = serverUrlProblem(target.url, allowPrivate);
  if (problem !== null) return `has a url that ${problem}`;
  return allowPrivate ? null : literalAddressProblem(new URL(target.url));
}

const valuesOf = (own: FileServer | undefined): Extract<FileServer, { kind: 'values' }> =>
  own?.kind === 'values' ? own : { kind: 'values', headers: {}, env: {} };

/** What the control plane says that it is sent, and nobody here has a value for. */
function missing(name: string, target: CompiledTarget, own: FileServer | undefined): string | null {
  const [what, wanted, given] =
    target.kind === 'url'
      ? (['headers', target.headers, valuesOf(own).headers] as const)
      : (['env', target.env, valuesOf(own).env] as const);
  const have = new Set(Object.keys(given).map((key) => (what === 'headers' ? key.toLowerCase() : key)));
  const lacks = wanted.filter((key) => !have.has(what === 'headers' ? key.toLowerCase() : key));
  if (lacks.length === 0) return null;
  return `is sent ${lacks.map((key) => JSON.stringify(key)).join(', ')}, and there is no value for that here: it belongs to mcpServers[${JSON.stringify(name)}].${what} of the file that TOLLGATE_GATEWAY_FILE names`;
}
