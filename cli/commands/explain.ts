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
  readonly above?: readonly string[];
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
    .option('--above <key...>', 'the agents above in the chain, root first, each as <client>::<tier>::<name>; default: a direct call')
    .option('--input <json>', 'the input of the call, which cases of rules read; default: any')
    .addHelpText('after', example)
    .action(act(cli, explain));
}

const example = `
For example: tollgate explain --tool payments.transfer --tier api --role member --input '{"amount": 500}'`;

async function explain({ options, print, client }: Asked<Question>): Promise<void> {
  const { tool, tier, sub, role, above } = options;
  if (sub === undefined && role === undefined) throw new Failure('the caller is missing; give --sub <uid> or --role <role>');
  const agentType = options.agentType ?? agentTypeKey({ client: options.client ?? 'tollgate', tier, name: options.agent ?? '' });
  const answer = await (await client()).ask('POST', '/{workspace}/admin/explain', {
    body: given({ tool, tier, sub, role, agentType, above, input: parsedInput(options.input) }),
    asksOnly: true,
  });
  await print.lines(answer, print.json ? [] : explanationLines(answer, print.paint));
  if (options.agentType === undefined && options.agent === undefined && shown(answer['reason']).startsWith('agent_unknown'))
    print.note('the agent has no name; give one with --agent');
}

/** Undefined: no input was given. */
function parsedInput(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Failure(`--input must be JSON, such as '{"amount": 500}': ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Returns the lines of an answer of `explain`. */
export function explanationLines(answer: Row, paint: Paint): readonly string[] {
  const { decision, reason } = answer;
  const isAllowed = decision === 'allow';
  const colour = isAllowed ? paint.green : decision === 'depends' || decision === 'ask' ? paint.yellow : paint.red;
  const others = (answer['remedies'] === undefined ? [] : rowsIn(answer, 'remedies')).map(remedyLine);
  return [
    `${colour(shown(decision))}  ${shown(reason)}`,
    `enforced  ${foldLine(rowIn(answer, 'enforced'))}`,
    `shadow    ${foldLine(rowIn(answer, 'shadow'))}`,
    ...(answer['asks'] === undefined ? [] : rowsIn(answer, 'asks')).map(askLine),
    ...(answer['redaction'] === undefined ? [] : [`redaction ${redactionLine(rowIn(answer, 'redaction'))}`]),
    ...(answer['toolNames'] === undefined ? [] : rowsIn(answer, 'toolNames')).map(
      ({ host, name, path }) => `name      ${shown(name)} in ${shown(host)}, by ${shown(path)}`,
    ),
    ...(answer['above'] === undefined ? [] : rowsIn(answer, 'above')).flatMap((agent) => [
      paint.bold(`layers of ${shown(agent['agentType'])}${agent['decides'] === true ? ', which decides' : ''}`),
      `  together  ${foldLine(rowIn(agent, 'enforced'))}`,
      ...layerLines(agent),
    ]),
    paint.bold(answer['above'] === undefined ? 'layers, broad to specific' : 'layers of the calling agent, broad to specific'),
    ...layerLines(answer),
    ...(isAllowed
      ? []
      : [paint.bold(decision === 'ask' ? 'would be allowed without a question with' : 'would be allowed with'), ...orNone(waysOf(answer))]),
    ...(others.length === 0 ? [] : [paint.bold('would be allowed without a change'), ...others]),
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

const layerLines = (answer: Row): readonly string[] =>
  orNone(
    rowsIn(answer, 'layers')
      .filter(speaks)
      .flatMap((layer) => [layerLine(layer), ...caseLines(layer)]),
  );

const layerLine = (layer: Row): string =>
  `  ${placeOf(layer)}  ${shown(layer['rule'])}${isAudit(layer['mode']) ? `  (${shown(layer['mode'])})` : ''}`;

/** Whether a document in this mode records only what it would have decided. The word is that of the document. */
const isAudit = (mode: unknown): boolean => mode === 'audit' || mode === 'audit-only';

/** Whether the layer has a rule about the call. */
const speaks = ({ rule, cases }: Row): boolean => (isRow(rule) && Object.keys(rule).length > 0) || Array.isArray(cases);

/** Returns two lines for each case of the layer's rules: whether it holds and what it sets, and its condition. */
function caseLines(layer: Row): readonly string[] {
  if (layer['cases'] === undefined) return [];
  return rowsIn(layer, 'cases').flatMap(({ path, result, reason, at, sets, when }) => {
    const why = reason === undefined ? '' : ` (${shown(reason)}: ${shown(at)})`;
    const said = result === 'depends' ? 'may hold; give --input' : `${shown(result)}${why}`;
    return [`    ${shown(path)}  ${said}  ${shown(sets)}`, ...(when === undefined ? [] : [`      when ${shown(when)}`])];
  });
}

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

/** Returns a rule that asks a person, and who may answer. */
function askLine(ask: Row): string {
  const { approvers, need, mayAnswer, mayAnswerCount, self, independent, via } = ask;
  const shownCount = Array.isArray(mayAnswer) ? mayAnswer.length : 0;
  const more = typeof mayAnswerCount === 'number' && mayAnswerCount > shownCount ? ` and ${mayAnswerCount - shownCount} more` : '';
  const choices = [
    self === true ? 'also the person that the call is made for' : '',
    independent === true ? 'not who made the key' : '',
    via === undefined ? '' : `by ${shown(via)} only`,
  ].filter((words) => words !== '');
  return `asks      ${shown(need)} of ${namesOf(approvers)}${choices.length === 0 ? '' : ` (${choices.join('; ')})`}; may answer: ${namesOf(mayAnswer)}${more}; by ${placeOf(ask)}`;
}

/** Returns a call that would be allowed in place of this one. */
function remedyLine(remedy: Row): string {
  const { kind, at, reason, and, rateLimit } = remedy;
  const places = [remedy, ...(Array.isArray(and) ? and.filter(isRow) : [])].map(placeOf).join(', ');
  const limit = `${rateLimit === undefined ? '' : `, at most ${shown(rateLimit)} in a window`}${remedy['asks'] === true ? ', if a person approves it' : ''}`;
  switch (kind) {
    case 'approval':
      return `  this call, if a person approves what ${places} asks${limit}`;
    case 'case':
      return `  a call of ${places}${limit}`;
    case 'no_case':
      return `  a call of no case of ${places}${limit}`;
    case 'input':
      return `  this call, if ${shown(at)} can be evaluated (${shown(reason)}) and ${places} does not hold${limit}`;
    default:
      return `  ${shown(kind)} ${places}${limit}`;
  }
}

function placeOf(place: Row): string {
  const { layer, document, part, path, override } = place;
  const words = [shown(document ?? layer), part === undefined ? '' : `(${shown(part)})`, shown(path), override === true ? 'override' : ''];
  return words.filter((word) => word !== '').join(' ');
}
