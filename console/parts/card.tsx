// A box with a title, for one question.
import { Group, Paper, Stack, Title } from '@mantine/core';
import type { ReactNode } from 'react';

interface CardProps {
  readonly title: string;
  /** At the right of the title, such as a link to more. */
  readonly more?: ReactNode;
  readonly children: ReactNode;
}

export function Card({ title, more, children }: CardProps) {
  return (
    <Paper withBorder p="md" bg="var(--card)" component="section" aria-label={title} fz="sm" className="alone">
      <Stack gap="xs">
        <Group justify="space-between" wrap="nowrap">
          <Title order={2} size="h5">
            {title}
          </Title>
          {more}
        </Group>
        {children}
      </Stack>
    </Paper>
  );
}
