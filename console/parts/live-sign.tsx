// Says whether a page changes by itself.
import { Group, Text } from '@mantine/core';
import type { StreamState } from '../api/stream.ts';

const words: Readonly<Record<StreamState, string>> = { connecting: 'connecting', live: 'live', lost: 'connection lost, trying again' };

export function LiveSign({ state }: { readonly state: StreamState }) {
  return (
    <Group gap={6} wrap="nowrap" role="status">
      <svg width="10" height="10" viewBox="0 0 10 10" aria-hidden="true">
        {state === 'live' ? (
          <circle cx="5" cy="5" r="4" fill="var(--outcome-allow)" />
        ) : (
          <circle cx="5" cy="5" r="3.5" fill="none" stroke={state === 'lost' ? 'var(--outcome-deny)' : 'var(--quiet)'} strokeWidth="1.5" />
        )}
      </svg>
      <Text size="xs" c={state === 'lost' ? 'var(--outcome-deny)' : 'var(--quiet)'}>
        {words[state]}
      </Text>
    </Group>
  );
}
