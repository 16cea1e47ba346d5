// Captured inputs of real hosts: each file is read, and each name is translated to ours. This test writes the table of
// all names to `test/cases/hosts/recorded/names.md` (`vitest run --update`).
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type HostName, hosts, isHost, type Rule } from '@tollgate/proto/contract';
import { describe, expect, test } from 'vitest';
import { hostNamed } from '../../../../proto/hosts/index.ts';
import { agent, document, server, type World } from '../../../support/snapshots.ts';
import { type HostInput, indexOf, outcomeOf, readCall } from './asked.ts';
import { folder, startHosts } from './recorded.ts';

interface CapturedInput {
  readonly host: HostName;
  readonly file: string;
  readonly version: string;
  readonly event: string;
  readonly input: HostInput;
}

const captured: readonly CapturedInput[] = readdirSync(join(folder, 'recorded'))
  .filter(isHost)
  .flatMap((host) =>
    readdirSync(join(folder, 'recorded', host)).map((file) => ({
      // The tests that read these files trust their shape.
      ...(JSON.parse(readFileSync(join(folder, 'recorded', host, file), 'utf8')) as CapturedInput),
      host,
      file,
    })),
  );

const longName = 'very_long_tool_name_that_is_longer_than_sixty_four_characters_in_all_of_it';

/**
 * The tools that were called, by the names of the hosts. For Copilot CLI the map also has two names of tools that it
 * does not know.
 */
const called: Readonly<Record<string, string>> = {
  'codex mcp__every__get_env': 'every.get-env',
  'codex mcp__every__get_sum': 'every.get-sum',
  'codex mcp__odd_srv__a_b': 'odd-srv.a/b',
  'codex mcp__odd_srv__del_thing': 'odd-srv.del.thing',
  'codex mcp__odd_srv__plain': 'odd-srv.plain',
  'codex mcp__odd_srv__wipe_all': 'odd-srv.wipe-all',
  'claude-code mcp__odd-srv__a_b': 'odd-srv.a/b',
  'claude-code mcp__odd-srv__del_thing': 'odd-srv.del.thing',
  'claude-code mcp__my_srv_x__plain': 'my srv.x.plain',
  'copilot-cli odd-srv-del-thing': 'odd-srv.del.thing',
  'copilot-cli odd-srv-del_thing': 'odd-srv.del_thing',
  'copilot-cli odd-srv-a_b': 'odd-srv.a_b',
  'gemini-cli mcp_odd-srv_a_b': 'odd-srv.a/b',
  'opencode odd-srv_a_b': 'odd-srv.a/b',
  'opencode odd-srv_del_thing': 'odd-srv.del.thing',
  'opencode my_srv_x_plain': 'my srv.x.plain',
  'cline odd-srv__a_b_7ef607f9': 'odd-srv.a/b',
  'cline odd-srv__del_thing_c05672bd': 'odd-srv.del.thing',
  'cline my_srv_x__plain_39d33f9e': 'my srv.x.plain',
  'cline odd-srv__very_long_tool_name_that_is_longer_than_sixty__68f95be3': `odd-srv.${longName}`,
};
/** Names of a server that cannot be registered, and that the host does not send in a separate field. */
const unknownAs: Readonly<Record<string, string>> = {
  'opencode my_srv_x_plain': 'my_srv_x_plain',
  'cline my_srv_x__plain_39d33f9e': 'my_srv_x.plain_39d33f9e',
};
const plainNames = /^(?:mcp__([a-z-]+)__|mcp_([a-z-]+)_|(every)-|(every|odd-srv)__?)(.+)$/;

function calledBy(host: HostName, name: string, input: unknown): string {
  const known = called[`${host} ${name}`];
  if (known !== undefined) return known;
  const { server: asked } = (typeof input === 'object' && input !== null ? input : {}) as { readonly server?: string };
  if (asked !== undefined) return `${asked}.resources/read`;
  const parts = plainNames.exec(name);
  return parts === null ? name : `${parts[1] ?? parts[2] ?? parts[3] ?? parts[4] ?? ''}.${parts[5] ?? ''}`;
}

const servers = [
  server({ name: 'every', tools: ['echo', 'get-sum', 'get-env'].map((name) => ({ name, requiredScopes: [] })) }),
  server({ name: 'odd-srv', tools: ['plain', 'wipe-all', 'del.thing', 'a/b', longName].map((name) => ({ name, requiredScopes: [] })) }),
];

const tiers = ['interactive', 'subagent', 'background', 'api'] as const;
const denying = (key: string): World => {
  const rule: Rule = { permission: 'deny' };
  return { documents: [document({ tools: [[key, tiers.map((tier) => [tier, rule])]] })] };
};
/** A wildcard for this name and all tools of its server with the same beginning. */
const wildcardOf = (name: string): string | null => {
  const ends = [...name.matchAll(/[._/:-]/g)].map(({ index }) => index);
  const last = ends.at(-1);
  return last === undefined ? null : `${name.slice(0, last + 1)}*`;
};

interface Row {
  readonly host: HostName;
  readonly name: string;
  readonly server: string;
  readonly tool: string;
  readonly input: HostInput;
}

const rows: readonly Row[] = captured.flatMap(({ host, input }) => {
  const call = readCall(host, input);
  if (call === null) return [];
  const server = call.server?.kind === 'named' || call.server?.kind === 'exact' ? call.server.name : '';
  const asked = call.server?.kind === 'method' ? `server: ${call.server.server}` : server;
  return [{ host, name: call.tool, server: asked, tool: calledBy(host, call.tool, call.input), input }];
});
const eachName = [...new Map(rows.map((row) => [`${row.host} ${row.name} ${row.server}`, row])).values()];

test('162 files of six hosts are read, before and after calls', () => {
  expect(captured.length).toBe(162);
  expect(hosts.filter((host) => !captured.some((one) => one.host === host))).toEqual(['cursor']);
  const unread = captured.filter(({ host, input }) => hostNamed(host)?.read(input, (text) => text).phase === 'unreadable');
  expect(unread.map(({ file }) => file)).toEqual([]);
  const others = captured.filter(({ host, input }) => hostNamed(host)?.read(input, (text) => text).phase === 'other');
  expect(new Set(others.map(({ event }) => event))).toEqual(
    new Set([
      'PostToolBatch',
      'SessionEnd',
      'SessionStart',
      'Stop',
      'SubagentStart',
      'SubagentStop',
      'UserPromptSubmit',
      'sessionStart',
      'BeforeToolSelection',
    ]),
  );
});

describe('captured inputs', () => {
  test.each(captured)('$host $file is answered', async ({ host, input }) => {
    const { ask, sidecar } = await startHosts({ agents: [agent({ id: 'other', name: 'other' })], servers });
    const call = readCall(host, input);
    expect(await ask(host, input)).toMatchObject({ status: 200, kind: call === null ? 'none' : expect.stringMatching(/^(?:allow|pass)$/) });
    const entries = await sidecar.entries();
    // For Copilot CLI's unknown names, only the server is known.
    const wanted = call === null ? [] : [{ tool: unknownAs[`${host} ${call.tool}`] ?? calledBy(host, call.tool, call.input) }];
    expect(entries).toMatchObject(wanted);
  });

  test.each(eachName)('$host $name: a rule that denies $tool holds', ({ host, tool, input }) => {
    for (const key of [tool, wildcardOf(tool) ?? tool])
      for (const known of [[], servers]) expect(outcomeOf(indexOf({ ...denying(key), servers: known }), host, input).decision).toBe('deny');
  });
});

test('the table of hosts, names and rules', async () => {
  const cell = (world: World, { host, input }: Row): string => {
    const { decision, code, tool, rule } = outcomeOf(indexOf(world), host, input);
    return decision === 'allow' || rule !== null ? `${decision} ${tool}` : `${decision} (${code})`;
  };
  const lines = eachName
    .toSorted((a, b) => (`${a.host} ${a.name}` < `${b.host} ${b.name}` ? -1 : 1))
    .map((row) => {
      const key = wildcardOf(row.tool);
      const cells = [
        row.host,
        row.name,
        row.server,
        row.tool,
        cell({}, row),
        cell(denying(row.tool), row),
        cell({ ...denying(row.tool), servers }, row),
        ...(key === null ? ['', '', ''] : [key, cell(denying(key), row), cell({ ...denying(key), servers }, row)]),
      ];
      return `| ${cells.join(' | ')} |`;
    });
  const head = [
    'host',
    'its name',
    'named server',
    'the tool',
    'no rule',
    'rule for the tool',
    'registered',
    'wildcard',
    'rule for it',
    'registered',
  ];
  const words = `# What becomes of the names that hosts sent

Made by \`test/sidecar/doors/coding-agents/captured.test.ts\`. Each rule denies. \`every\` and \`odd-srv\` are registered with their tools in the columns
of that name; \`my srv.x\` cannot be, for its name. Of Copilot CLI \`odd-srv-a_b\` and \`odd-srv-del_thing\` are names that a model made up.
`;
  const table = [`| ${head.join(' | ')} |`, `|${'---|'.repeat(head.length)}`, ...lines].join('\n');
  await expect(`${words}\n${table}\n`).toMatchFileSnapshot(join(folder, 'recorded', 'names.md'));
});
