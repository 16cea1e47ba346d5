// A part of a page with a heading.
import { Group, Paper, Stack, Title } from '@mantine/core';
import { type ReactNode, useId } from 'react';

interface SectionProps {
  readonly title: string;
  /** What belongs to the heading, at its right. */
  readonly side?: ReactNode;
  readonly children: ReactNode;
}

export function Section({ title, side, children }: SectionProps) {
  const id = useId();
  return (
    <Paper component="section" withBorder p={{ base: 'sm', sm: 'md' }} bg="var(--card)" aria-labelledby={id} miw={0}>
      <Stack gap="sm">
        <Group justify="space-between" gap="xs">
          <Title order={2} size="h5" id={id}>
            {title}
          </Title>
          {side}
        </Group>
        {children}
      </Stack>
    </Paper>
  );
}
