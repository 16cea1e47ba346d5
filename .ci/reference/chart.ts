// The table of values in the README of the chart: names, defaults and comments of values.yaml.
import { readFileSync } from 'node:fs';
import { isMap, isPair, isScalar, type Pair, parseDocument, type YAMLMap } from 'yaml';
import type { Page } from '../reference.ts';

const file = new URL('../../deploy/helm/tollgate/values.yaml', import.meta.url);

interface Row {
  readonly name: string;
  /** Absent: values below it have rows of their own. */
  readonly value?: string;
  readonly about: string;
}

const textOf = (comment: string | null | undefined): string => (comment ?? '').replaceAll(/\s*\n\s*/g, ' ').trim();
const nameOf = ({ key }: Pair): string => String(isScalar(key) ? key.value : key);

/** A comment above the first key of a map is the map's own in the parser, and said of that key. */
function rowsOf(map: YAMLMap, path: string): readonly Row[] {
  return map.items.filter(isPair).flatMap((pair, at): readonly Row[] => {
    const { key, value } = pair;
    const name = path + nameOf(pair);
    const above = isScalar(key) ? key.commentBefore : null;
    const about = textOf(above ?? (at === 0 && path !== '' ? map.commentBefore : null));
    if (isMap(value) && value.flow !== true) return [...(about === '' ? [] : [{ name, about }]), ...rowsOf(value, `${name}.`)];
    return [{ name, value: JSON.stringify((value as { toJSON(): unknown }).toJSON()), about }];
  });
}

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('<', '&lt;');

export const page: Page = {
  path: 'deploy/helm/tollgate/README.md',
  between: 'values',
  render: () => {
    const { contents } = parseDocument(readFileSync(file, 'utf8'));
    if (!isMap(contents)) throw new Error('values.yaml is no map');
    const rows = rowsOf(contents, '').map(({ name, value, about }) =>
      value === undefined
        ? `| **\`${name}\`** | | ${cell(about)} |`
        : `| \`${name}\` | \`${value.replaceAll('|', '\\|')}\` | ${cell(about)} |`,
    );
    return ['| value | default | |', '| --- | --- | --- |', ...rows].join('\n');
  },
};
