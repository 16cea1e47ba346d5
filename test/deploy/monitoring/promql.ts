// Finds the metrics and labels that an expression of PromQL names, and those of them that no program exports. It
// supports as much of the language as our rules and panels use; an unknown word is a problem, too.

/** By name of a series, such as `…_bucket`; null: it has no series yet, so its labels are not known. */
export type SeriesLabels = ReadonlyMap<string, ReadonlySet<string> | null>;

const words = new Set(
  'sum max min min_over_time count group topk histogram_quantile rate increase changes predict_linear absent vector time and or unless offset'.split(
    ' ',
  ),
);
/** Labels that the scraper sets, and the label of a histogram. */
const targetLabels = ['job', 'instance', 'namespace', 'pod'];
const ofPrometheus: SeriesLabels = new Map([
  ['up', new Set<string>()],
  ['ALERTS', new Set(['alertname', 'alertstate'])],
]);

/** Parses the text that `/metrics` answers. */
export function readExported(text: string): SeriesLabels {
  const exported = new Map<string, Set<string> | null>();
  for (const [, name = '', type] of text.matchAll(/^# TYPE (\S+) (\S+)$/gm))
    for (const suffix of type === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']) exported.set(`${name}${suffix}`, null);
  for (const [, name = '', labels = ''] of text.matchAll(/^([a-z]\w*)(?:\{(.*)\})? \S+$/gm)) {
    const known = exported.get(name) ?? new Set<string>();
    for (const [, label = ''] of labels.matchAll(/(\w+)="(?:[^"\\]|\\.)*"/g)) known.add(label);
    exported.set(name, known);
  }
  return exported;
}

export function mergeExported(...all: readonly SeriesLabels[]): SeriesLabels {
  const merged = new Map<string, ReadonlySet<string> | null>();
  for (const [name, labels] of all.flatMap((one) => [...one])) {
    const known = merged.get(name) ?? null;
    merged.set(name, known === null ? labels : new Set([...known, ...(labels ?? [])]));
  }
  return merged;
}

/**
 * The names that are not exported, as messages; empty: all are. `unseen`: labels of metrics that have no series while
 * everything works.
 */
export function problemsOf(
  expr: string,
  exported: SeriesLabels,
  unseen: Readonly<Record<string, readonly string[]>> = {},
): readonly string[] {
  const problems: string[] = [];
  const labels = new Set(targetLabels);
  const plain = expr.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""').replaceAll(/\[[^\]]*\]|\boffset \w+/g, '');
  const ofMetric = (name: string): readonly string[] | null => {
    const found = ofPrometheus.get(name) ?? exported.get(name);
    if (found === undefined) problems.push(`no program exports ${name}`);
    return found == null ? (unseen[name] ?? null) : [...found];
  };
  const selected = plain.replaceAll(/([a-zA-Z_]\w*)\{([^}]*)\}/g, (_, name: string, matchers: string) => {
    const own = ofMetric(name);
    const matched = [...matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label = '']) => label);
    for (const label of matched) if (![...(own ?? []), ...targetLabels].includes(label)) problems.push(`${name} has no label ${label}`);
    for (const label of own ?? []) labels.add(label);
    return '';
  });
  const groupings: string[] = [];
  const rest = selected.replaceAll(/\b(?:by|on|without|ignoring)\s*\(([^)]*)\)/g, (_, listed: string) => {
    groupings.push(...listed.split(',').map((label) => label.trim()));
    return '';
  });
  for (const [word] of rest.matchAll(/[a-zA-Z_]\w*/g)) {
    if (words.has(word)) continue;
    for (const label of ofMetric(word) ?? []) labels.add(label);
  }
  for (const label of groupings) if (label !== '' && !labels.has(label)) problems.push(`nothing here has the label ${label}`);
  return problems;
}
