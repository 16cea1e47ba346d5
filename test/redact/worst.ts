// The worst inputs for detectors, of any length. They consist of what makes a detector start, and of what makes it
// search further without a result. Used where time is measured (test/bench) and where work is counted.
import type { Detector } from '../../sidecar/engine/redact/detector.ts';
import { isPositive, type Row } from './corpus.ts';

export interface WorstInput {
  readonly name: string;
  /** Returns the same text for the same length. The text is about as long as requested, and not longer. */
  readonly make: (length: number) => string;
}

/** Texts that contain a finding, by kind. */
export type Samples = ReadonlyMap<string, readonly string[]>;

const letters = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';
const digits = '0123456789';
const alphabets = {
  letters,
  digits,
  hex: '0123456789abcdef',
  base64: `${letters}${digits}+/`,
  token: `${letters}${digits}_-`,
  host: 'ab.cd-e.',
} as const;
// Runs of characters that are shorter than tokens, about as long, and longer.
const runLengths = [3, 11, 15, 19, 20, 31, 32, 36, 40, 48, 64, 100, 250];
const anchorsMax = 4;
// The texts at which a detector of digits starts.
const digitAnchors = ['1', '4111', '0049', '123456789'];

export function worstInputs(detector: Pick<Detector, 'kind' | 'anchors'>, samples: Samples): readonly WorstInput[] {
  const anchors = detector.anchors === 'digits' ? digitAnchors : spread(detector.anchors, anchorsMax);
  const known = spread(samples.get(detector.kind) ?? [], 3);
  return [
    ...anchors.flatMap(aroundAnchor),
    { name: 'every anchor in turn', make: repeated(detector.anchors === 'digits' ? digitAnchors : detector.anchors) },
    {
      name: 'every anchor, then a run',
      make: repeated(ofEach(detector.anchors, (anchor, at) => `${anchor}${run('token', runLength(at))} `)),
    },
    { name: 'every anchor, assigned', make: repeated(ofEach(detector.anchors, (anchor) => `${anchor}="" ${anchor}: '`)) },
    ...known.map((sample, at) => ({ name: `finding ${at + 1} repeated`, make: repeated([`${sample}\n`]) })),
    ...known.slice(0, 1).map((sample) => ({ name: 'finding repeated without a gap', make: repeated([sample]) })),
    ...known.slice(0, 1).map((sample) => ({ name: 'finding cut short repeated', make: repeated([`${sample.slice(0, -1)} `]) })),
  ];
}

/** Inputs that are hard for several detectors, not for one alone. */
export const commonInputs: readonly WorstInput[] = [
  ...Object.keys(alphabets).map((of) => ({ name: `one token of ${of}`, make: (length: number) => run(of, length) })),
  { name: 'digits with separators', make: repeated(['4111 1111-1111.1112 ', '+49 (30) 1234-567 / ', '123-45-6789, ', '1.2.3.4:']) },
  { name: 'short runs of digits', make: repeated(['1 ', '23-', '4.', '567/']) },
  { name: 'quotes and brackets', make: repeated(['"([{<\'`', '»«“”„', ')]}>']) },
  { name: 'escapes', make: repeated(['\\n', '\\\\\\"', '\\u0041', '%3D', '\\x1b[31m']) },
  { name: 'blanks', make: repeated([' \t\n']) },
  { name: 'header rows without values', make: repeated(['user,password,api_key,phone,ssn\n']) },
  { name: 'digits between entities', make: repeated(['12&nbsp;34&nbsp;', '123&nbsp;']) },
  { name: 'short numbers next to words for them', make: repeated(['nin 1234, ', 'tel 030 12, ', 'card 4111 11\n']) },
  { name: 'names without values', make: repeated(['password: ', 'api_key=', '"token":', 'secret => ']) },
  { name: 'different findings', make: numbered((at) => `u${at}@host${at}.lindenpost.net\n`) },
  { name: 'marks', make: numbered((at) => `[redacted:email#${at}] `) },
  { name: 'JSON of short texts', make: json((at) => `a${at}@b${at}.lindenpost.net`) },
  { name: 'JSON in JSON', make: nestedJson },
  { name: 'JSON of many levels', make: deepJson },
];

/** The shortest texts of the rows that contain a kind, so that many fit. */
export function samplesOf(rows: readonly Row[]): Samples {
  const samples = new Map<string, string[]>();
  for (const row of rows.filter(isPositive).toSorted((a, b) => a.text.length - b.text.length))
    samples.set(row.kind, [...(samples.get(row.kind) ?? []), row.text]);
  return samples;
}

function aroundAnchor(anchor: string): readonly WorstInput[] {
  const inputs: Readonly<Record<string, WorstInput['make']>> = {
    repeated: repeated([anchor]),
    'repeated with blanks': repeated([`${anchor} `]),
    'after a long run': (length) => `${run('token', length - anchor.length - 1)} ${anchor}`,
    'within a long run': (length) => `${run('base64', length / 2)}${anchor}${run('base64', length / 2 - anchor.length)}`,
    'after runs': repeated(runLengths.map((length) => `${run('host', length)}${anchor}`)),
    assigned: repeated([`${anchor}="" `, `${anchor}: '`, `${anchor}=>[`, `"${anchor}":{`]),
    'with escapes': repeated([`${anchor}\\n`, `${anchor}\\\\\\"`, `${anchor}%3D`, `\\u0041${anchor}`]),
    'with blanks and lines': repeated([`${anchor}${' '.repeat(60)}`, `${anchor}${'\n'.repeat(60)}`]),
  };
  const runs = Object.keys(alphabets).flatMap((of): readonly WorstInput[] => [
    { name: `${anchor} before one run of ${of}`, make: (length) => `${anchor}${run(of, length - anchor.length)}` },
    { name: `${anchor} before runs of ${of}`, make: repeated(runLengths.map((length) => `${anchor}${run(of, length)}!`)) },
  ]);
  return [...Object.entries(inputs).map(([name, make]) => ({ name: `${anchor} ${name}`, make })), ...runs];
}

function ofEach(anchors: Detector['anchors'], make: (anchor: string, at: number) => string): readonly string[] {
  return (anchors === 'digits' ? digitAnchors : anchors).map(make);
}

const runLength = (at: number): number => runLengths[at % runLengths.length] ?? 1;

function repeated(pieces: readonly string[]): (length: number) => string {
  const round = pieces.join('');
  return (length) => (round === '' ? '' : round.repeat(Math.ceil(length / round.length)).slice(0, length));
}

/** Steps through the alphabet with a stride, so that adjacent characters differ and no short period appears. */
function run(of: string, length: number): string {
  const alphabet = Object.entries(alphabets).find(([name]) => name === of)?.[1] ?? letters;
  let text = '';
  for (let at = 0; at < length; at++) text += alphabet.charAt((at * 7 + (at >> 3)) % alphabet.length);
  return text;
}

function numbered(piece: (at: number) => string): (length: number) => string {
  return (length) => {
    let text = '';
    for (let at = 1; text.length < length; at++) text += piece(at);
    return text.slice(0, length);
  };
}

function json(item: (at: number) => string): (length: number) => string {
  return (length) => {
    const items = numbered((at) => `${item(at)}\n`)(length * 0.8)
      .split('\n')
      .slice(0, -1);
    return JSON.stringify(items);
  };
}

/** Each level doubles the backslashes of the level within it. */
function nestedJson(length: number): string {
  let text = json((at) => `b${at}@c${at}.lindenpost.net`)(length * 0.45);
  for (let level = 0; level < 3; level++) text = JSON.stringify({ text });
  return text;
}

/** Half of the text is depth. The other half is findings, each at a long path. */
function deepJson(length: number): string {
  const depth = Math.floor(length / 12);
  return `${'{"a":'.repeat(depth)}${json((at) => `c${at}@d${at}.lindenpost.net`)(length - depth * 6)}${'}'.repeat(depth)}`;
}

/** Some items of a list, evenly distributed. */
function spread<T>(all: readonly T[], max: number): readonly T[] {
  return all.length <= max
    ? all
    : Array.from({ length: max }, (_, at) => all[Math.floor((at * all.length) / max)]).filter((one) => one !== undefined);
}
