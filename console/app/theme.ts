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

/** The greys of dark surfaces, around those of `outcomes.css`: 7 is a card, 6 a field on it, 4 a line. */
const dark: MantineColorsTuple = [
  '#d5dadc',
  '#bcc3c7',
  '#a3abb0',
  '#7c868c',
  '#3d4448',
  '#2e3438',
  '#24292c',
  '#1d2124',
  '#181b1d',
  '#15181a',
];

export const theme = createTheme({
  primaryColor: 'ink',
  primaryShade: { light: 7, dark: 4 },
  autoContrast: true,
  colors: { ink, dark },
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif',
  fontFamilyMonospace: 'ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace',
  defaultRadius: 'sm',
  headings: { fontWeight: '650' },
  cursorType: 'pointer',
});
