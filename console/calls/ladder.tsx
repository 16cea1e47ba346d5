// The layers of a decision as a ladder, broad to specific. The strictest one wins; it is marked.
import { Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { Foreign, visible } from '../parts/foreign.tsx';
import { type Outcome, outcomeColour, OutcomeSign } from '../parts/outcome.tsx';
import css from './calls.module.css';
import type { Case, Ladder, Permission, Rung } from './ladder-of.ts';

const layerWords: Readonly<Record<Rung['layer'], string>> = {
  default: 'Built-in default',
  workspace: 'Workspace',
  role: 'Role',
  'agent-type': 'Agent type',
  user: 'User',
};

const partWords = { organisation: 'set by the organisation', self: 'set by themselves' } as const;

/** A permission has the sign and the colour of the outcome that it leads to. */
const permissionWords: Readonly<Record<Permission, string>> = { allow: 'allows', ask: 'asks a person', deny: 'denies' };

interface LadderProps {
  readonly ladder: Ladder;
  /** The name of the agent that called. */
  readonly agent: string;
}

export function LadderView({ ladder: { above, rungs, isDecidedHere, together }, agent }: LadderProps) {
  if (rungs.length === 0) return <Text size="sm">No layer says anything about this call.</Text>;
  const all = [...above.flatMap((one) => one.rungs), ...rungs];
  const hasAudited = all.some((rung) => rung.isAuditOnly && outcomeOfRung(rung) !== null);
  const decidedAbove = above.some(({ decided }) => decided);
  return (
    <>
      <Text size="sm" c="var(--quiet)" mb="lg">
        {isDecidedHere
          ? `From broad to specific. The strictest ${hasAudited ? 'of the layers that are enforced ' : ''}wins${above.length === 0 ? '' : ', of all agents of the chain'}.`
          : 'The policy did not decide this call; the reason above did. This is what the policy says about it.'}
      </Text>
      {above.map((one, at) => (
        <Agent key={at} name={nameOf(one.agentType)} about={one.decided ? 'an agent above; one of its layers decided' : 'an agent above'}>
          <Rungs rungs={one.rungs} of={nameOf(one.agentType)} />
        </Agent>
      ))}
      {above.length === 0 ? (
        <Rungs rungs={rungs} />
      ) : (
        <Agent
          name={agent}
          about={isDecidedHere && !decidedAbove ? 'the agent that called; one of its layers decided' : 'the agent that called'}
        >
          <Rungs rungs={rungs} of={agent} />
        </Agent>
      )}
      {together !== null && (
        <p className={css.sum}>
          <span className={css.quiet}>All together: </span>
          <strong style={{ color: outcomeColour(together.permission) }}>{permissionWords[together.permission]}</strong>
          {together.rateLimit !== null && `, at most ${together.rateLimit} calls in a window`}
          {together.transform === 'redact' && ', redacts personal data'}
        </p>
      )}
    </>
  );
}

/** `<client>::<tier>::<name>` → `<name>`. */
const nameOf = (agentType: string): string => agentType.split('::').slice(2).join('::') || agentType;

interface AgentProps {
  readonly name: string;
  readonly about: string;
  readonly children: ReactNode;
}

/** The layers of one agent of a chain. */
function Agent({ name, about, children }: AgentProps) {
  return (
    <section className={css.agent}>
      <Text component="h3" size="sm" fw={600} mb="xs">
        <Foreign text={name} max={80} />{' '}
        <Text span size="sm" fw={400} c="var(--quiet)">
          {about}
        </Text>
      </Text>
      {children}
    </section>
  );
}

const Rungs = ({ rungs, of }: { readonly rungs: readonly Rung[]; readonly of?: string }) => (
  <ol className={css.ladder} aria-label={`Layers${of === undefined ? '' : ` of ${visible(of)}`}, broad to specific`}>
    {rungs.map((rung) => (
      <RungView key={rung.key} rung={rung} />
    ))}
  </ol>
);

/** What a rung shows: the colour of its permission. A rung that only limits has that of a limit. */
const outcomeOfRung = ({ permission, says }: Rung): Outcome | null =>
  permission ??
  (says.some((words) => words.startsWith('at most') || words.startsWith('limits')) ? 'limit' : says.length > 0 ? 'redact' : null);

function RungView({ rung }: { readonly rung: Rung }) {
  const { layer, part, whose, permission, says, path, isAuditOnly, cases, won, wouldWin } = rung;
  const outcome = outcomeOfRung(rung);
  const colour = outcome === null ? 'var(--quiet)' : outcomeColour(outcome);
  const words = [...(permission === null ? [] : [permissionWords[permission]]), ...says].join(', ');
  return (
    <li className={won ? `${css.rung} ${css.won}` : css.rung} style={{ '--won': colour } as React.CSSProperties}>
      <span
        className={css.node}
        style={{ color: colour }}
        data-says={outcome ?? undefined}
        data-audit={isAuditOnly || undefined}
        aria-hidden="true"
      >
        {outcome === null ? '–' : <OutcomeSign outcome={outcome} />}
      </span>
      <div className={css.body}>
        <div className={css.line}>
          <Text component="span" size="sm" fw={600} c={outcome === null ? 'var(--quiet)' : 'var(--mantine-color-text)'}>
            {layerWords[layer]}
            {whose !== '' && (
              <>
                {' '}
                <Foreign text={whose} max={100} />
              </>
            )}
          </Text>
          {part !== null && outcome !== null && <span className={`${css.small} ${css.quiet}`}>{partWords[part]}</span>}
          <span className={css.small} style={{ color: colour }}>
            {words === '' ? 'says nothing about this call' : words}
          </span>
          {isAuditOnly && outcome !== null && <span className={`${css.tag} ${css.quiet}`}>audit mode: recorded only, does not count</span>}
          {won && (
            <span className={css.tag} style={{ color: colour, fontWeight: 650 }}>
              decided
            </span>
          )}
          {wouldWin && <span className={`${css.tag} ${css.quiet}`}>would decide if it were enforced</span>}
        </div>
        {path !== '' && (
          <div className={`${css.mono} ${css.small} ${css.quiet} alone`}>
            <Foreign text={path} max={300} />
          </div>
        )}
        {cases.length > 0 && (
          <ul className={css.cases} aria-label="Cases of the rule">
            {cases.map((one) => (
              <CaseView key={one.path} one={one} />
            ))}
          </ul>
        )}
      </div>
    </li>
  );
}

const resultWords: Readonly<Record<Case['result'], string>> = {
  holds: '✓ applies',
  'does not hold': '– does not apply',
  undecided: '? could not be checked',
  depends: '? may apply',
};

const undecidedWords: Readonly<Record<NonNullable<Case['reason']>, string>> = {
  absent: 'the input has no such field',
  type: 'the field has another type',
  rounded: 'a number would be rounded',
  hidden: 'the field is hidden by redaction',
  budget: 'it needs too much work',
  unclear: 'it is not clear',
};

/** `tools["pay"].api.cases["large"]` → `large`. */
const caseName = (path: string): string => /\.cases\["(.*)"\]$/.exec(path)?.[1] ?? path;

function CaseView({ one: { path, result, sets, when, reason, at } }: { readonly one: Case }) {
  const effect = [
    ...(sets.permission === undefined ? [] : [permissionWords[sets.permission]]),
    ...(sets.rateLimit === undefined ? [] : [`at most ${sets.rateLimit} in a window`]),
    ...(sets.transform === undefined ? [] : [sets.transform === 'redact' ? 'redacts' : 'keeps the input']),
  ].join(', ');
  return (
    <li className={css.case} data-holds={result === 'holds' || undefined} data-result={result}>
      <span className={result === 'holds' ? undefined : css.quiet}>{resultWords[result]}</span>
      <span>
        <Foreign text={caseName(path)} max={80} /> {effect}
        {sets.reason !== undefined && (
          <>
            : <Foreign text={sets.reason} />
          </>
        )}
        {when !== undefined && (
          <span className={`${css.mono} ${css.quiet}`} style={{ fontWeight: 400 }}>
            {' '}
            when <Foreign text={when} max={500} />
          </span>
        )}
        {reason !== undefined && (
          <span className={css.quiet}>
            {' '}
            ({undecidedWords[reason]}
            {at !== undefined && (
              <>
                : <Foreign text={at} />
              </>
            )}
            )
          </span>
        )}
      </span>
    </li>
  );
}
