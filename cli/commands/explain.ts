// `tollgate explain`: shows how a call would be decided, and why.
import { agentTypeKey, roles, tiers } from '@tollgate/proto/contract';
import { type Command, Option } from 'commander';
import { given, isRow, type Row, rowIn, rowsIn } from '../api/answer.ts';
import { act, type Asked, type Cli } from '../command.ts';
import { Failure } from '../failure.ts';
import type { Paint } from '../print/print.ts';
import { shown } from '../print/table.ts';

interface Question {
  readonly tool: string;
  readonly tier: string;
  readonly sub?: string;
  readonly role?: string;
  readonly agentType?: string;
  readonly agent?: string;
  readonly client?: string;
  readonly input?: string;
}

export function addExplainCommand(program: Command, cli: Cli): void {
  program
    .command('explain')
    .description('show how a call would be decided, by which rules, and which change would allow it')
    .requiredOption('--tool <name>', 'the tool')
    .addOption(new Option('--tier <tier>', 'the tier in which the agent runs').choices(tiers).makeOptionMandatory())
    .addOption(new Option('--sub <uid>', 'the caller: a member or service key').conflicts('role'))
    .addOption(new Option('--role <role>', 'the caller: any member with this role').choices(roles))
    .addOption(new Option('--agent-type <key>', '<client>::<tier>::<name>').conflicts(['agent', 'client']))
    .option('--agent <name>', 'name of the agent; default: no name')
    .option('--client <name>', 'client of the agent; default: tollgate')
    .option('--input <json>', 'the input of the call, which cases of rules read')
    .action(act(cli, explain));
}

async function explain({ options, print, client }: Asked<Question>): Promise<void> {
  const { tool, tier, sub, role } = options;
  if (sub === undefined && role === undefined) throw new Failure('the caller is missing; give --sub <uid> or --role <role>');
  const agentType = options.agentType ?? agentTypeKey({ client: options.client ?? 'tollgate', tier, name: options.agent ?? '' });
  const answer = await (await client()).ask('POST', '/{workspace}/admin/explain', {
    body: given({ tool, tier, sub, role, agentType, input: parsedInput(options.input) }),
    asksOnly: true,
  });
  await print.lines(answer, print.json ? [] : explanationLines(answer, print.paint));
  if (options.agentType === undefined && options.agent === undefined && shown(answer['reason']).startsWith('agent_unknown'))
    print.note('the agent has no name; give one with --agent');
}

function parsedInput(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Failure(`--input must be JSON, such as '{"amount": 500}': ${error instanceof Error ? error.message : String(error)}`);
  }
}

function explanationLines(answer: Row, paint: Paint): readonly string[] {
  const denied = answer['decision'] !== 'allow';
  return [
    `${(denied ? (answer['decision'] === 'depends' ? paint.yellow : paint.red) : paint.green)(shown(answer['decision']))}  ${shown(answer['reason'])}`,
    `enforced  ${foldLine(rowIn(answer, 'enforced'))}`,
    `shadow    ${foldLine(rowIn(answer, 'shadow'))}`,
    ...(answer['redaction'] === undefined ? [] : [`redaction ${redactionLine(rowIn(answer, 'redaction'))}`]),
    ...(answer['toolNames'] === undefined ? [] : rowsIn(answer, 'toolNames')).map(
      ({ host, name, path }) => `name      ${shown(name)} in ${shown(host)}, by ${shown(path)}`,
    ),
    paint.bold('layers, broad to specific'),
    ...orNone(rowsIn(answer, 'layers').filter(speaks).flatMap((layer) => [layerLine(layer), ...caseLines(layer)])),
    ...(denied ? [paint.bold('would be allowed with'), ...orNone(waysOf(answer))] : []),
  ];
}

const orNone = (lines: readonly string[]): readonly string[] => (lines.length > 0 ? lines : ['  none']);

function foldLine(fold: Row): string {
  const rate = fold['rateLimit'] === null ? 'no rate limit' : `at most ${shown(fold['rateLimit'])} in a window`;
  const by = rowIn(fold, 'attributedTo');
  return `${shown(fold['permission'])}, ${rate}, ${shown(fold['transform'])}; by ${placeOf(by)}`;
}

function redactionLine(redaction: Row): string {
  const { off, patterns, allow, exception } = redaction;
  const kept = isRow(exception) ? `${namesOf(exception['kinds'])} by ${shown(exception['path'])}` : 'nothing';
  return `off: ${namesOf(off)}; own patterns: ${namesOf(patterns)}; values allowed: ${shown(allow)}; this tool keeps ${kept}`;
}

const namesOf = (list: unknown): string => (Array.isArray(list) && list.length > 0 ? list.map(shown).join(', ') : 'none');

const layerLine = (layer: Row): string =>
  `  ${placeOf(layer)}  ${shown(layer['rule'])}${layer['mode'] === 'audit' ? '  (audit only)' : ''}`;

/** Returns a line for each case of the layer's rules: whether it holds, or why that is not known. */
function caseLines(layer: Row): readonly string[] {
  if (layer['cases'] === undefined) return [];
  return rowsIn(layer, 'cases').map(({ path, result, reason, at }) => {
    const why = reason === undefined ? '' : ` (${shown(reason)} at ${shown(at)})`;
    return `    ${shown(path)}  ${result === 'depends' ? 'may hold; give --input' : `${shown(result)}${why}`}`;
  });
}

/** Whether the layer has a rule about the call. */
const speaks = ({ rule, cases }: Row): boolean => (isRow(rule) && Object.keys(rule).length > 0) || Array.isArray(cases);

/** Returns the ways to allow the call, one line each. All changes of a way are necessary. */
function waysOf(answer: Row): readonly string[] {
  const ways = answer['wouldAllow'];
  if (!Array.isArray(ways)) return [];
  return ways.map(
    (way) =>
      `  ${(Array.isArray(way) ? way : [])
        .filter(isRow)
        .map((step) => `${placeOf(step)}: ${shown(step['change'])}`)
        .join('; and ')}`,
  );
}

function placeOf(place: Row): string {
  const { layer, document, part, path, override } = place;
  const words = [shown(document ?? layer), part === undefined ? '' : `(${shown(part)})`, shown(path), override === true ? 'override' : ''];
  return words.filter((word) => word !== '').join(' ');
}
