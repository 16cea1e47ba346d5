// The head of a page that is in the menu: its name, a sentence about it, and what is done with the page as a whole.
import { Box, Group, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';

interface PageHeadProps {
  readonly title: string;
  readonly sentence?: ReactNode;
  /** Buttons and choices, at the right. */
  readonly children: ReactNode;
}

export const PageHead = ({ title, sentence, children }: PageHeadProps) => (
  <Group justify="space-between" align="end" gap="xs">
    <Box>
      <Title order={1} size="h3">
        {title}
      </Title>
      {sentence !== undefined && (
        <Text size="sm" c="var(--quiet)">
          {sentence}
        </Text>
      )}
    </Box>
    {children}
  </Group>
);
