// `tollgate policy …`: manages all policy documents as files. The control plane computes the differences in a dry run,
// so they are exactly what an apply would change. Exit code 2: something differs.
import type { Command } from 'commander';
import { type Client } from '../api/client.ts';
import { numberIn, type Row, rowsIn, textIn } from '../api/answer.ts';
import { act, type Asked, type Cli, type ExitCode } from '../command.ts';
import { Failure } from '../failure.ts';
import { writeWhole } from '../files.ts';
import { diffLines, differs } from '../policies/policy-diff.ts';
import { readPolicies } from '../policies/policy-files.ts';
import { sections } from '../policies/policy-text.ts';
import { paintOf, type Printer } from '../print/print.ts';
import { escapeText } from '../print/escape.ts';
import { addPolicyTestCommand } from './policy-test.ts';

const admin = '/{workspace}/admin';

interface Files {
  readonly file: readonly string[];
}

interface Change {
  readonly dryRun?: true;
  readonly yes?: true;
}

export const filesFlag = '-f, --file <path...>';
export const filesWords = 'YAML or JSON files or folders of them; - is standard input';

export function addPolicyCommands(program: Command, cli: Cli): void {
  const group = program.command('policy').description('policies as files: workspacePolicy, rolePolicies, agentTypePolicies, userPolicies');
  group
    .command('export')
    .description('write all policy documents as YAML; as JSON with --json or if the file ends in .json')
    .option('-o, --output <file>', 'write to this file instead of standard output')
    .action(act(cli, exportPolicies));
  group
    .command('diff')
    .description('show what applying the files would change; exit code 2 if there are changes')
    .requiredOption(filesFlag, filesWords)
    .action(act(cli, diffPolicies));
  group
    .command('apply')
    .description(
      'apply the files in one transaction; a section in the files replaces the whole section. Asks first on a terminal; without a terminal, it does not ask',
    )
    .requiredOption(filesFlag, filesWords)
    .option('--dry-run', 'only show what would change; exit code 2 if there are changes')
    .option('-y, --yes', 'do not ask')
    .action(act(cli, applyPolicies));
  addPolicyTestCommand(group, cli);
  group
    .command('history')
    .description('list changes of documents, newest first')
    .option('--document <document>', 'only this document')
    .option('--limit <count>', 'maximum number')
    .option('--cursor <next>', 'continue after the previous answer')
    .action(act(cli, listHistory));
  group
    .command('rollback')
    .description('restore the policy documents of a revision; asks first; without a terminal, --yes is required')
    .argument('<revision>', 'from tollgate policy history')
    .option('--dry-run', 'only show what would change; exit code 2 if there are changes')
    .option('-y, --yes', 'do not ask')
    .action(act(cli, rollbackPolicies));
}

async function exportPolicies({ options, print, client }: Asked<{ readonly output?: string }>): Promise<void> {
  const { workspace, ask } = await client();
  const answer = await ask('GET', `${admin}/policies`);
  const documents = Object.fromEntries(sections.map((name) => [name, answer[name] ?? {}]));
  const { output } = options;
  if (output === undefined && print.json) return print.lines(answer, []);
  const asJson = print.json || output?.endsWith('.json') === true;
  const text = asJson ? `${JSON.stringify(documents, null, 2)}\n` : await writeYaml(documents);
  if (output === undefined) return print.lines(answer, [text.trimEnd()]);
  await writeWhole(output, text);
  print.note(`policies of ${workspace} at revision ${numberIn(answer, 'revision')} are in ${output}`);
}

/**
 * Writes readable YAML. If a name contains characters that a terminal would interpret, every text is quoted and
 * escaped.
 */
async function writeYaml(documents: object): Promise<string> {
  const { stringify } = await import('yaml');
  const plain = stringify(documents, { lineWidth: 0 });
  if (plain.split('\n').every((line) => escapeText(line) === line)) return plain;
  const quoted = stringify(documents, { lineWidth: 0, defaultStringType: 'QUOTE_DOUBLE', defaultKeyType: 'QUOTE_DOUBLE' });
  return quoted.split('\n').map(escapeText).join('\n');
}

async function diffPolicies(asked: Asked<Files>): Promise<ExitCode> {
  const documents = await readPolicies(asked.options.file, asked.world.stdin);
  return showDryRun(asked.print, await applying(documents)(await asked.client(), { dryRun: true }));
}

async function applyPolicies(asked: Asked<Files & Change>): Promise<ExitCode> {
  return change(asked, applying(await readPolicies(asked.options.file, asked.world.stdin)));
}

async function rollbackPolicies(asked: Asked<Change>): Promise<ExitCode> {
  const [revision = ''] = asked.words;
  const { world, options } = asked;
  if (!/^\d{1,15}$/.test(revision))
    throw new Failure(`${revision} is not the number of a revision; list the revisions with: tollgate policy history`);
  if (world.prompts === null && options.yes !== true && options.dryRun !== true)
    throw new Failure('there is no terminal to ask for a confirmation; nothing was changed', [
      `to roll back, add --yes; to see the changes, add --dry-run`,
    ]);
  return change(asked, (client, { dryRun, ifMatch }) =>
    client.ask('POST', `${admin}/policies/rollback`, { body: { revision: Number(revision), dryRun }, asksOnly: dryRun, ...ifMatch }),
  );
}

interface How {
  readonly dryRun: boolean;
  readonly ifMatch?: { readonly ifMatch: number };
}

type Send = (client: Client, how: How) => Promise<Row>;

const applying =
  (documents: Row): Send =>
  (client, { dryRun, ifMatch }) =>
    client.ask('POST', `${admin}/policies/apply`, { body: { ...documents, dryRun }, asksOnly: dryRun, ...ifMatch });

/**
 * Applies a change of policies. On a terminal it first shows what would change and asks. Then it applies only the
 * changes that were shown.
 */
async function change({ world, options, print, client: connect }: Asked<Change>, send: Send): Promise<ExitCode> {
  const client = await connect();
  if (options.dryRun === true) return showDryRun(print, await send(client, { dryRun: true }));
  if (world.prompts === null || options.yes === true) return showDone(print, await send(client, { dryRun: false }), true);
  const planned = await send(client, { dryRun: true });
  if (!differs(planned)) return showDone(print, planned, true);
  const paint = paintOf(world.stderr.isTTY === true && (world.env['NO_COLOR'] ?? '') === '');
  world.stderr.write(`${diffLines(planned, paint).join('\n')}\n`);
  if (!(await world.prompts.confirm(`Apply this to ${client.workspace} at ${client.url}?`)))
    throw new Failure('the change was not confirmed; nothing was changed');
  return showDone(print, await send(client, { dryRun: false, ifMatch: { ifMatch: numberIn(planned, 'revision') } }), false);
}

async function showDryRun(print: Printer, answer: Row): Promise<ExitCode> {
  await print.lines(answer, diffLines(answer, print.paint));
  if (differs(answer)) return 2;
  print.note('there are no differences');
  return 0;
}

async function showDone(print: Printer, answer: Row, withDiff: boolean): Promise<ExitCode> {
  await print.lines(answer, withDiff ? diffLines(answer, print.paint) : []);
  print.note(differs(answer) ? `applied, revision ${numberIn(answer, 'revision')}` : 'there are no differences; nothing was changed');
  return 0;
}

interface HistoryQuestion {
  readonly document?: string;
  readonly limit?: string;
  readonly cursor?: string;
}

async function listHistory({ options, print, client }: Asked<HistoryQuestion>): Promise<void> {
  const { document, limit, cursor } = options;
  const answer = await (await client()).ask('GET', `${admin}/policyHistory`, { query: { document, limit, cursor } });
  await print.table(answer, rowsIn(answer, 'history'), {
    empty: 'no policy was changed yet',
    columns: [
      { head: 'revision', of: (row) => row['revision'] },
      { head: 'at', of: (row) => row['at'] },
      { head: 'by', of: (row) => row['sub'] },
      { head: 'action', of: (row) => row['action'] },
      { head: 'document', of: (row) => row['document'] },
    ],
  });
  if ('next' in answer) print.note(`there is more: --cursor ${textIn(answer, 'next')}`);
}
