// What would allow a call that was not allowed: another call under the same policy, or a change of the policy.
import { Anchor, Code, Text } from '@mantine/core';
import { Link } from 'react-router';
import { useSession } from '../app/session.tsx';
import { Foreign } from '../parts/foreign.tsx';
import type { Change, Entry, Explanation, Remedy } from './answer.ts';
import css from './calls.module.css';
import { hintOf } from './hints.ts';
import { isDecidedByRule } from './ladder-of.ts';
import { placeOf } from './place-of.ts';

interface RemediesProps {
  readonly entry: Entry;
  readonly explanation: Explanation | null;
}

export function Remedies({ entry, explanation }: RemediesProps) {
  const { code = '', approval } = entry;
  const hint = hintOf(code);
  const isUnknown = explanation === null || (explanation.remedies.length === 0 && explanation.wouldAllow.length === 0);
  return (
    <>
      {hint !== null && (
        <Text size="sm" mb={isUnknown ? 0 : 'sm'}>
          {hint}
          {approval !== undefined && (
            <>
              {' '}
              <Anchor component={Link} size="sm" to={`/approvals/${encodeURIComponent(approval.id)}`}>
                Open the approval
              </Anchor>
            </>
          )}
        </Text>
      )}
      {hint === null && isUnknown && <Text size="sm">Neither another input nor a change of one policy would allow it.</Text>}
      {hint !== null && !isUnknown && !isDecidedByRule(entry) && (
        <Text size="sm" c="var(--quiet)" mb="sm">
          The layers would have said no too, so in addition:
        </Text>
      )}
      {explanation !== null && <Ways explanation={explanation} />}
    </>
  );
}

/** Other calls, and changes of the policy. */
function Ways({ explanation }: { readonly explanation: Explanation }) {
  const { remedies, wouldAllow } = explanation;
  return (
    <>
      {remedies.length > 0 && (
        <>
          <Text size="sm" fw={600} mb={4}>
            Without a change of policy
          </Text>
          <ul className={css.ways}>
            {remedies.map((remedy) => (
              <li key={`${remedy.kind} ${remedy.path}`}>
                <RemedyView remedy={remedy} explanation={explanation} />
              </li>
            ))}
          </ul>
        </>
      )}
      {wouldAllow.length > 0 && (
        <>
          <Text size="sm" fw={600} mb={4}>
            With a change of policy{wouldAllow.length > 1 ? ', one of these' : ''}
          </Text>
          <ul className={css.ways}>
            {wouldAllow.map((changes) => (
              <li key={JSON.stringify(changes)}>
                {changes.map((change, at) => (
                  <span key={`${change.document} ${change.path}`}>
                    {at > 0 && ' and '}
                    <ChangeView change={change} />
                  </span>
                ))}
              </li>
            ))}
          </ul>
          <Text size="sm" c="var(--quiet)" mt={4}>
            Or change policies as files: <Code>tollgate policy export -o policy.yaml</Code>, then{' '}
            <Code>tollgate policy apply -f policy.yaml</Code>.
          </Text>
        </>
      )}
    </>
  );
}

function ChangeView({ change: { document, path, change } }: { readonly change: Change }) {
  const { workspace } = useSession();
  const place = placeOf(document, workspace);
  return (
    <>
      In {place.words}
      {place.whose !== '' && (
        <>
          {' '}
          <Foreign text={place.whose} max={80} />
        </>
      )}
      : <Foreign text={change} max={300} />
      {path !== '' && (
        <>
          <span className={css.quiet}>, at</span>{' '}
          <span className={css.mono}>
            <Foreign text={path} />
          </span>
        </>
      )}
      .{' '}
      <span className={css.quiet}>
        By REST:{' '}
        <span className={css.mono}>
          <Foreign text={`PUT ${place.path}`} max={300} />
        </span>
      </span>
    </>
  );
}

/** The conditions of the cases at a path, or of all cases of the rule there. */
function conditionsAt({ layers }: Explanation, path: string): readonly string[] {
  return layers
    .flatMap(({ cases = [] }) => cases)
    .filter((one) => one.path === path || one.path.startsWith(`${path}.cases[`))
    .flatMap(({ when }) => when ?? []);
}

function RemedyView({ remedy, explanation }: { readonly remedy: Remedy; readonly explanation: Explanation }) {
  const { kind, path, and = [], at, reason, rateLimit, asks } = remedy;
  const paths = [path, ...and.map((one) => one.path)];
  const conditions = paths.flatMap((one) => conditionsAt(explanation, one));
  return (
    <>
      {kind === 'approval' && 'This call, if a person approves it'}
      {kind === 'case' && 'A call for which this case holds'}
      {kind === 'no_case' && (conditions.length === 1 ? 'A call for which this does not hold' : 'A call for which none of these holds')}
      {kind === 'input' && (
        <>
          This call, if <Foreign text={at ?? 'the field'} /> could be read ({reason ?? 'it is not clear'}) and this case did not hold
        </>
      )}
      {conditions.length > 0 && kind !== 'approval' && ': '}
      {kind !== 'approval' &&
        conditions.map((condition, index) => (
          <span key={condition}>
            {index > 0 && <span className={css.quiet}> / </span>}
            <span className={css.mono}>
              <Foreign text={condition} max={500} />
            </span>
          </span>
        ))}
      {rateLimit !== undefined && `, at most ${rateLimit} in a window`}
      {asks === true && ', if a person approves it'}
      {'. '}
      <span className={`${css.mono} ${css.small} ${css.quiet}`}>
        <Foreign text={paths.join(', ')} max={300} />
      </span>
    </>
  );
}
