// What one number is now, in words, and a line without axes of its values while the page was open.
import { Group, Paper, Text } from '@mantine/core';

const box = { width: 120, height: 36 } as const;

interface SparklineProps {
  readonly name: string;
  readonly value: string;
  /** What the value means, in a few words. */
  readonly detail: string;
  readonly values: readonly number[];
}

export function Sparkline({ name, value, detail, values }: SparklineProps) {
  const top = Math.max(1, ...values);
  const step = box.width / Math.max(1, values.length - 1);
  const points = values.map((one, index) => `${(index * step).toFixed(1)},${(box.height - 2 - (one / top) * (box.height - 4)).toFixed(1)}`);
  return (
    <Paper withBorder p="sm" bg="var(--card)">
      <Text size="xs" c="var(--quiet)">
        {name}
      </Text>
      <Group justify="space-between" wrap="nowrap" mb={6}>
        <Text size="xl" fw={600}>
          {value}
        </Text>
        <svg
          width={box.width}
          height={box.height}
          role="img"
          aria-label={`${name}, since you opened this page: at most ${Math.max(0, ...values).toLocaleString()}`}
        >
          <polyline points={points.join(' ')} fill="none" stroke="var(--mantine-primary-color-filled)" strokeWidth="2" />
        </svg>
      </Group>
      <Text size="xs" c="var(--quiet)">
        {detail}
      </Text>
    </Paper>
  );
}
