// What a page shows instead of its data: while it loads, after a refusal, and where there is nothing yet.
import { Button, Code, Paper, Skeleton, Stack, Text, Title } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ApiError } from '../api/client.ts';
import { Notice } from './notice.tsx';

/** `what`: what could not be done, such as `the sidecars could not be read`. */
export function Refused({ error, what, retry }: { readonly error: Error; readonly what: string; readonly retry?: () => void }) {
  const status = error instanceof ApiError && error.status > 0 ? ` (${error.status})` : '';
  return (
    <Notice tone="deny" title={`${what}${status}`} role="alert">
      <Stack gap="xs" align="start">
        <Text className="foreign" size="sm">
          {error.message}
        </Text>
        {retry !== undefined && (
          <Button size="xs" variant="default" onClick={retry}>
            Try again
          </Button>
        )}
      </Stack>
    </Notice>
  );
}

interface EmptyProps {
  readonly title: string;
  readonly children?: ReactNode;
  /** The one command that leads to the first data. */
  readonly command?: string;
  /** 1 if the page has no other heading. */
  readonly order?: 1 | 2;
}

export function Empty({ title, children, command, order = 2 }: EmptyProps) {
  return (
    <Paper p={{ base: 'md', sm: 'xl' }} withBorder bg="var(--card)">
      <Stack gap="sm" align="start">
        <Title order={order} size="h4">
          {title}
        </Title>
        {children}
        {command !== undefined && (
          <Code block w="100%" className="foreign">
            {command}
          </Code>
        )}
      </Stack>
    </Paper>
  );
}

interface LoadedProps<T> {
  readonly query: UseQueryResult<T>;
  readonly what: string;
  readonly children: (data: T) => ReactNode;
  /** The height of the skeleton in pixels: about that of the data. */
  readonly height?: number;
}

/** Shows the data of a query, or a skeleton, or why there is none. Data that is already there stays during an error. */
export function Loaded<T>({ query, what, children, height = 120 }: LoadedProps<T>) {
  if (query.data !== undefined)
    return (
      <>
        {query.error !== null && <Refused error={query.error} what={what} retry={() => void query.refetch()} />}
        {children(query.data)}
      </>
    );
  if (query.error !== null) return <Refused error={query.error} what={what} retry={() => void query.refetch()} />;
  return <Skeleton height={height} role="status" aria-label="loading" />;
}
