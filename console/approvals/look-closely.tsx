// Says what a person could overlook in the input of a call and in the names around it.
import { Box, List, Text } from '@mantine/core';
import { Foreign } from '../parts/foreign.tsx';
import { odditiesIn, odditiesMax, oddIn, type Oddity } from '../parts/unseen.ts';
import type { Approval } from './state.tsx';

/** What could be overlooked in the input and in the names. */
export function LookClosely({ approval: { call, shownInput, shownText, findings } }: { readonly approval: Approval }) {
  const names: readonly (readonly [string, string])[] = [
    ['the name of the tool', call.tool],
    ...call.agents.map((agent) => ['the name of the agent', agent] as const),
    ['the session', call.sessionId],
  ];
  const inNames = names.flatMap(([where, text]) => {
    const what = oddIn(text);
    return what.length === 0 ? [] : [{ where: <>{where}</>, what }];
  });
  const all = [...inNames, ...odditiesIn(shownInput).map((one: Oddity) => ({ where: <Place path={one.path} />, what: one.what }))];
  const forged = forgedMarks(shownText, findings);
  if (all.length === 0 && forged.length === 0) return null;
  return (
    <Box className="look-closely" role="note">
      <Text size="sm" fw={650} c="var(--outcome-limit)" mb={4}>
        Look closely
      </Text>
      <List size="sm" spacing={2}>
        {forged.map((words) => (
          <List.Item key={words}>{words}</List.Item>
        ))}
        {all.slice(0, odditiesMax).map(({ where, what }, at) => (
          <List.Item key={at}>
            {what.join('; ')} in {where}
          </List.Item>
        ))}
        {all.length > odditiesMax && <List.Item>and more of the same</List.Item>}
      </List>
    </Box>
  );
}

const mark = /\[redacted:([a-z][a-z0-9_]{0,39})(?:#[1-9]\d{0,8})?\]/g;

/** Redaction says how many values it found of each kind. More marks than these were written by the caller. */
function forgedMarks(shownText: string, findings: Approval['findings']): readonly string[] {
  const counts = new Map<string, number>();
  for (const [, kind = ''] of shownText.matchAll(mark)) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return [...counts].flatMap(([kind, count]) => {
    const found = findings.find((one) => one.kind === kind)?.count ?? 0;
    if (count <= found) return [];
    return [
      `${count} ${count === 1 ? 'text has' : 'texts have'} the form of a mark of redaction, [redacted:${kind}], and redaction found ${found}: ${count - found} of them ${count - found === 1 ? 'was' : 'were'} written by the caller`,
    ];
  });
}

const Place = ({ path }: { readonly path: string }) => (path === '' ? <>the input</> : <Foreign text={path} max={80} />);
