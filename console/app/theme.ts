// Colours and type of the console. The colours of outcomes are in `outcomes.css`.
import { createTheme, type MantineColorsTuple } from '@mantine/core';

const ink: MantineColorsTuple = [
  '#eef7f7',
  '#d9ebeb',
  '#afd6d6',
  '#82c0c0',
  '#5eaeae',
  '#3f9b9d',
  '#23868a',
  '#0f6f74',
  '#0f5f63',
  '#0b4a4e',
];

export const theme = createTheme({
  primaryColor: 'ink',
  primaryShade: { light: 7, dark: 4 },
  autoContrast: true,
  colors: { ink },
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif',
  fontFamilyMonospace: 'ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace',
  defaultRadius: 'sm',
  headings: { fontWeight: '650' },
  cursorType: 'pointer',
});
