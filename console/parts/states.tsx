// What a page shows instead of its data: while it loads, after a refusal, and where there is nothing yet.
import { Alert, Button, Code, Paper, Skeleton, Stack, Text, Title } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ApiError } from '../api/client.ts';

/** `what`: what could not be done, such as `the sidecars could not be read`. */
export function Refused({ error, what, retry }: { readonly error: Error; readonly what: string; readonly retry?: () => void }) {
  const status = error instanceof ApiError && error.status > 0 ? ` (${error.status})` : '';
  return (
    <Alert color="red" variant="light" title={`${what}${status}`} role="alert">
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
    </Alert>
  );
}

/** `command`: the one command that leads to the first data. */
export function Empty({ title, children, command }: { readonly title: string; readonly children?: ReactNode; readonly command?: string }) {
  return (
    <Paper p="xl" withBorder>
      <Stack gap="sm" align="start">
        <Title order={3}>{title}</Title>
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
