// Checks the definition of a tool server, as far as this is possible without the server.
import {
  bounds,
  headerNameProblem,
  headerValueProblem,
  isServerName,
  nameProblem,
  serverNameWords,
  serverUrlProblem,
} from '@tollgate/proto/contract';
import { isSteering } from './steering-variables.ts';
import {
  type Checked,
  described,
  either,
  entries,
  isObject,
  type JsonSchema,
  list,
  problem,
  type Problem,
  record,
  type Shape,
  text,
} from '@tollgate/proto/shape';
import { agentsServer, type Secrets, type Target, type ToolServerDefinition, toolServerBounds } from './tool-server.ts';

/** What the operator permits for tool servers. */
export interface ToolServerRules {
  /** Permits plain HTTP and addresses that are not public. */
  readonly allowPrivate: boolean;
  /** Programs that can be started. */
  readonly commands: readonly string[];
}

function serverNameProblem(value: string): string | null {
  if (!isServerName(value)) return serverNameWords;
  return value === agentsServer ? `is reserved: \`${agentsServer}.*\` are the agents that a run may delegate tasks to` : null;
}

/**
 * Permits capital letters, digits and `_`, with a letter at the start. This excludes two kinds of names: names in small
 * letters, which some programs read like the same names in capital letters, and names that a shell reads as a function.
 */
const envName = /^[A-Z][A-Z0-9_]{0,99}$/;

const storable = (value: string): string | null => (/[\0\p{Cs}]/u.test(value) ? 'must hold no NUL and no unpaired surrogate' : null);
const named = (value: string): string | null => nameProblem(value);

const headers = entries(
  { problem: headerNameProblem, schema: { type: 'string' }, max: toolServerBounds.secrets },
  text(toolServerBounds.secretLength, headerValueProblem),
);

const env = entries(
  {
    problem: (key) =>
      !envName.test(key)
        ? 'is not the name of a variable: A-Z first, then A-Z 0-9 and _'
        : isSteering(key)
          ? 'is a variable that changes what a program runs'
          : null,
    schema: { type: 'string' },
    max: toolServerBounds.secrets,
  },
  text(toolServerBounds.secretLength, storable),
);

const argument = text(toolServerBounds.argLength, storable);

const commandOf = ({ commands }: ToolServerRules): Shape => {
  const program = text(toolServerBounds.argLength, (value) => programProblem(value, commands));
  const whole = record({ program, args: list(toolServerBounds.args, argument), env }, ['program']);
  const words: Shape = {
    check: (value, path) => {
      if (!Array.isArray(value) || value.length === 0) return problem(path, 'must have a program as its first item');
      if (value.length > toolServerBounds.args)
        return problem(path, `must have at most ${toolServerBounds.args} items, has ${value.length}`);
      return value.flatMap((one, at) => (at === 0 ? program : argument).check(one, `${path}[${at}]`));
    },
    schema: { type: 'array', minItems: 1, items: { type: 'string' } },
  };
  return either((value) => (Array.isArray(value) ? words : whole), whole, words);
};

function programProblem(program: string, commands: readonly string[]): string | null {
  if (commands.length === 0) return 'names a program, but this control plane starts no programs: TOLLGATE_TOOL_COMMANDS is not set';
  return commands.includes(program) ? null : `must be a program of TOLLGATE_TOOL_COMMANDS: ${commands.join(', ')}`;
}

const toolScopes = entries(
  { problem: named, schema: { type: 'string', minLength: 1, maxLength: bounds.nameLength }, max: toolServerBounds.tools },
  record({ requiredScopes: list(toolServerBounds.requiredScopes, text(bounds.nameLength, named)) }, ['requiredScopes']),
);

const definitionOf = (rules: ToolServerRules): Shape =>
  record(
    {
      name: described('unique in the workspace; its tools are `<name>.<tool>`', text(63, serverNameProblem)),
      url: described(
        'Streamable HTTP; either this or `command`',
        text(toolServerBounds.urlLength, (value) => serverUrlProblem(value, rules.allowPrivate)),
      ),
      headers: described('sent with every request; the values are kept encrypted and never shown', headers),
      command: described('a program of `TOLLGATE_TOOL_COMMANDS` that speaks MCP on its standard streams', commandOf(rules)),
      tools: described('the scopes that an agent needs for a tool, by the name the server gives it', toolScopes),
    },
    ['name'],
  );

/** The schema of a definition in the API document. */
export const toolServerSchema: JsonSchema = definitionOf({ allowPrivate: false, commands: [] }).schema;

/**
 * Returns why a registered server must not be called now. Null: it may be called. The operator may have changed the
 * permitted targets since the registration.
 */
export function targetProblem(target: Target, rules: ToolServerRules): string | null {
  const [path, wrong] =
    target.kind === 'url'
      ? ['url', serverUrlProblem(target.url, rules.allowPrivate)]
      : ['command.program', programProblem(target.program, rules.commands)];
  return wrong === null ? null : `${path} ${wrong}`;
}

/** Makes all checks of a definition that are possible without the server. */
export function checkToolServer(body: unknown, rules: ToolServerRules): Checked<ToolServerDefinition> {
  const problems = [...definitionOf(rules).check(body, ''), ...contradictions(body)];
  if (problems.length > 0 || !isObject(body)) return { problems };
  const { target, secrets } = targetFrom(body);
  const scopes = pairsOf(body['tools']).map(([tool, rule]) => [tool, stringsOf(isObject(rule) ? rule['requiredScopes'] : [])] as const);
  return { value: { name: String(body['name']), target, secrets, scopes } };
}

function contradictions(body: unknown): readonly Problem[] {
  if (!isObject(body)) return [];
  const [url, command, headers] = ['url', 'command', 'headers'].map((key) => Object.hasOwn(body, key));
  if (url === command) return problem('body', 'must have either "url" or "command"');
  if (command === true && headers === true) return problem('headers', 'can only be used with "url"; for a command, use "command.env"');
  const names = pairsOf(body['headers']).map(([name]) => name.toLowerCase());
  const twice = names.find((name, at) => names.indexOf(name) < at);
  return twice === undefined ? [] : problem('headers', `must not contain the header ${twice} twice`);
}

// The functions below read a body that has passed all checks above.

function targetFrom({ url, headers, command }: Readonly<Record<string, unknown>>): Pick<ToolServerDefinition, 'target' | 'secrets'> {
  if (typeof url === 'string') {
    const secrets = secretsFrom(headers);
    return { target: { kind: 'url', url: new URL(url).href, headers: Object.keys(secrets) }, secrets };
  }
  const [program = '', ...args] = Array.isArray(command)
    ? stringsOf(command)
    : isObject(command)
      ? [String(command['program']), ...stringsOf(command['args'])]
      : [];
  const secrets = secretsFrom(isObject(command) ? command['env'] : undefined);
  return { target: { kind: 'command', program, args, env: Object.keys(secrets) }, secrets };
}

const pairsOf = (value: unknown): readonly (readonly [string, unknown])[] => (isObject(value) ? Object.entries(value) : []);
const stringsOf = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(String) : []);
const secretsFrom = (value: unknown): Secrets => Object.fromEntries(pairsOf(value).map(([key, secret]) => [key, String(secret)]));
