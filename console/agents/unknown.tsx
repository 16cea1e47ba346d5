// Agents that called and are not registered.
import { Anchor, Box, Button, Group, Text } from '@mantine/core';
import { Link } from 'react-router';
import { Foreign } from '../parts/foreign.tsx';
import '../parts/rows.css';
import './agents.css';
import { Section } from '../parts/section.tsx';
import { Loaded } from '../parts/states.tsx';
import { oddIn } from '../parts/unseen.ts';
import { When } from '../parts/when.tsx';
import { type Period, periodWords, useUnknownAgents } from './data.ts';
import { Denied } from './words.tsx';

interface UnknownProps {
  readonly period: Period;
  readonly words: string;
  /** Why the reader cannot register one. */
  readonly whyNot: string | null;
  readonly register: (name: string) => void;
}

/** Of the part of the page. */
export const unknownId = 'not-registered';

export function Unknown({ period, words, whyNot, register }: UnknownProps) {
  const unknown = useUnknownAgents(period);
  return (
    <Box id={unknownId} style={{ scrollMarginTop: 64 }}>
      <Section title="Agents that are not registered">
        <Text size="sm" c="var(--quiet)">
          They called in {periodWords[period]}. Only the policy holds for them: they have no list of tools and no caps of their own.{' '}
          {whyNot}
        </Text>
        <Loaded query={unknown} what="The agents that are not registered could not be read">
          {({ pages }) => {
            const all = pages.flatMap(({ agents }) => agents);
            const found = all.filter(({ name }) => name.toLowerCase().includes(words.trim().toLowerCase()));
            if (all.length === 0) return <Text size="sm">None. Every agent that called is registered.</Text>;
            if (found.length === 0 && !unknown.hasNextPage) return <Text size="sm">None of {all.length} is like this.</Text>;
            return (
              <>
                <table className="rows rows-inside agent-rows">
                  <caption className="only-read">Agents that called and are not registered</caption>
                  <thead>
                    <tr>
                      <th scope="col">Name that it gives itself</th>
                      <th scope="col" className="rows-number">
                        Calls
                      </th>
                      <th scope="col" className="rows-number">
                        Denied
                      </th>
                      <th scope="col">First call</th>
                      <th scope="col">Last call</th>
                      <th scope="col">
                        <span className="only-read">Register</span>
                      </th>
                    </tr>
                  </thead>
                  <tbody>
                    {found.map(({ name, calls, denied, firstAt, lastAt }) => (
                      <tr key={name}>
                        <td className="rows-wide alone">
                          <Group gap={8}>
                            <Anchor
                              component={Link}
                              to={`/audit?agent=${encodeURIComponent(name)}&last=${period}`}
                              size="sm"
                              underline="hover"
                            >
                              <Foreign text={name} max={80} />
                            </Anchor>
                            {oddIn(name).length > 0 && (
                              <Text size="xs" c="var(--outcome-limit)">
                                Look closely: {oddIn(name).join('; ')}
                              </Text>
                            )}
                          </Group>
                        </td>
                        <td data-label="Calls" className="rows-number">
                          {calls.toLocaleString()}
                        </td>
                        <td data-label="Denied" className="rows-number">
                          <Denied count={denied} />
                        </td>
                        <td data-label="First call">
                          <When at={firstAt} hasDate={period === '7d'} />
                        </td>
                        <td data-label="Last call">
                          <When at={lastAt} hasDate={period === '7d'} />
                        </td>
                        <td className="rows-wide rows-end">
                          <Button size="compact-xs" variant="default" disabled={whyNot !== null} onClick={() => register(name)}>
                            Register
                          </Button>
                        </td>
                      </tr>
                    ))}
                  </tbody>
                </table>
                {unknown.hasNextPage && (
                  <Button variant="default" onClick={() => void unknown.fetchNextPage()} loading={unknown.isFetchingNextPage}>
                    More of them
                  </Button>
                )}
              </>
            );
          }}
        </Loaded>
      </Section>
    </Box>
  );
}
