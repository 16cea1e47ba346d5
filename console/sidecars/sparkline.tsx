// One number over time, as a line without axes, with its present value.
import { Group, Paper, Text } from '@mantine/core';

const box = { width: 160, height: 36 } as const;

export function Sparkline({ name, values }: { readonly name: string; readonly values: readonly number[] }) {
  const top = Math.max(1, ...values);
  const step = box.width / Math.max(1, values.length - 1);
  const points = values.map(
    (value, index) => `${(index * step).toFixed(1)},${(box.height - 2 - (value / top) * (box.height - 4)).toFixed(1)}`,
  );
  const now = values.at(-1) ?? 0;
  return (
    <Paper withBorder p="sm" bg="var(--card)">
      <Text size="xs" c="var(--quiet)">
        {name}
      </Text>
      <Group justify="space-between" wrap="nowrap">
        <Text size="xl" fw={600}>
          {now.toLocaleString()}
        </Text>
        <svg width={box.width} height={box.height} role="img" aria-label={`${name}: at most ${Math.max(0, ...values).toLocaleString()}`}>
          <polyline points={points.join(' ')} fill="none" stroke="var(--mantine-primary-color-filled)" strokeWidth="2" />
        </svg>
      </Group>
    </Paper>
  );
}
