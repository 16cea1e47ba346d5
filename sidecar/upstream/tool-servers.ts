// Finds the tool servers behind this sidecar by name, and how to reach each: those of the gateway file, and those that
// the control plane defines. The file has priority. The control plane's definitions come with every snapshot, so
// changes apply as fast as rule changes. A snapshot never contains the values of headers and variables, which are in
// the file. A snapshot expresses what a workspace wants, and not what this sidecar's operator wants. Therefore the
// programs of a snapshot are started only if `TOLLGATE_TOOL_COMMANDS` names them. The addresses of a snapshot must be
// public, if the operator does not allow private ones.
//
// States: a server remains the same object while its definition is unchanged. When the definition changes or
// disappears, the server ends with all its programs. For a changed definition, a new object replaces it.
import type { CompiledServer, CompiledTarget } from '@tollgate/proto/contract';
import { serverUrlProblem } from '@tollgate/proto/contract';
import type { Index } from '../engine/decide/build-index.ts';
import type { Reach, ToolServer, ToolServers } from './upstream.ts';
import type { FileServer, GatewayFile } from './gateway-file.ts';
import { createPrograms, type ProgramDeps } from './programs.ts';
import { createLateAgent, literalAddressProblem, type Resolve } from './public-only.ts';

interface UpstreamRules {
  /** Allows plain HTTP and addresses that are not public. */
  readonly allowPrivate: boolean;
  /** The programs that this sidecar may start for the control plane. */
  readonly commands: readonly string[];
}

export interface UpstreamDeps extends ProgramDeps {
  readonly file: GatewayFile;
  readonly rules: UpstreamRules;
  readonly resolve: Resolve;
}

export interface Upstreams extends ToolServers {
  /** Applies a new snapshot: ends servers that the snapshot no longer defines, or defines differently. */
  follow(index: Index): void;
  /** Ends every program and connection. */
  close(): Promise<void>;
}

interface HeldServer extends ToolServer {
  readonly definition: string;
  admitted: ToolServer['admitted'];
  /**
   * The snapshot that `admitted` comes from, while the server is in use. Null: the server has ended, and only open
   * connections reference it.
   */
  index: Index | null;
  readonly end: () => Promise<void>;
}

type Target = Extract<FileServer, { kind: 'url' | 'command' }> | CompiledTarget;

export function createUpstreams({ file, rules, resolve, ...programs }: UpstreamDeps): Upstreams {
  const open = createLateAgent({ allowPrivate: true, resolve });
  const guarded = createLateAgent({ allowPrivate: false, resolve });
  const held = new Map<string, HeldServer>();
  const ending = new Set<Promise<void>>();

  const end = (server: HeldServer): void => {
    held.delete(server.name);
    server.index = null;
    const ended = server.end().finally(() => ending.delete(ended));
    ending.add(ended);
  };

  const make = (name: string, target: Target, index: Index, definition: string): HeldServer => {
    let endPrograms = (): Promise<void> => Promise.resolve();
    const overStreams = (command: Parameters<typeof createPrograms>[1]): Reach => {
      const started = createPrograms(programs, command);
      endPrograms = () => started.close();
      return { kind: 'program', open: (listener) => started.open(listener) };
    };
    const unreachable = (problem: string): Reach => ({ kind: 'unreachable', problem });
    const reachOf = (): Reach => {
      if ('admitted' in target) {
        const { kind } = target;
        return kind === 'url'
          ? { kind: 'http', url: new URL(target.url), headers: target.headers, agent: open.get }
          : overStreams({ program: target.program, args: target.args, env: target.env, cwd: target.cwd });
      }
      const problem = targetProblem(target, rules) ?? missing(name, target, file.mcpServers.get(name));
      if (problem !== null) return unreachable(problem);
      const values = valuesOf(file.mcpServers.get(name));
      if (target.kind === 'command') return overStreams({ ...target, env: values.env, cwd: null });
      return { kind: 'http', url: new URL(target.url), headers: values.headers, agent: (rules.allowPrivate ? open : guarded).get };
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

/** Returns the definition of a server. Null: no server of that name is defined, or the name is an HTTP tool here. */
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

/**
 * Returns why the settings of this sidecar do not permit a program or an address that the control plane defines. Null:
 * they permit it.
 */
function targetProblem(target: CompiledTarget, { allowPrivate, commands }: UpstreamRules): string | null {
  if (target.kind === 'command')
    return commands.includes(target.program) ? null : 'is a program that TOLLGATE_TOOL_COMMANDS of this sidecar does not name';
  const problem = serverUrlProblem(target.url, allowPrivate);
  if (problem !== null) return `has a url that ${problem}`;
  return allowPrivate ? null : literalAddressProblem(new URL(target.url));
}

const valuesOf = (own: FileServer | undefined): Extract<FileServer, { kind: 'values' }> =>
  own?.kind === 'values' ? own : { kind: 'values', headers: {}, env: {} };

/**
 * Returns a problem if values are missing: the control plane lists the names of the values, but the file does not
 * contain them. Null: no value is missing.
 */
function missing(name: string, target: CompiledTarget, own: FileServer | undefined): string | null {
  const [what, wanted, given] =
    target.kind === 'url'
      ? (['headers', target.headers, valuesOf(own).headers] as const)
      : (['env', target.env, valuesOf(own).env] as const);
  const have = new Set(Object.keys(given).map((key) => (what === 'headers' ? key.toLowerCase() : key)));
  const lacks = wanted.filter((key) => !have.has(what === 'headers' ? key.toLowerCase() : key));
  if (lacks.length === 0) return null;
  return `needs ${what} ${lacks.map((key) => JSON.stringify(key)).join(', ')}, and this sidecar has no value for them; set it in mcpServers[${JSON.stringify(name)}].${what} of the file that TOLLGATE_GATEWAY_FILE names`;
}
