// `url(text)` next to two parsers that do not agree: Python's, and the one of the WHATWG standard. What it decides, both
// see.
import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { needs } from '../../../../support/installed.ts';
import { randomFrom } from '../../../../support/random.ts';
import { resultOf, undecided } from './answers.ts';

interface Seen {
  /** Null: the parser refuses the URL. */
  readonly scheme: string | null;
  /** Null: the parser refuses the URL, or it finds no host. */
  readonly host: string | null;
}

const inPython = `
import json, sys
from urllib.parse import urlsplit
def seen(text):
    try:
        parts = urlsplit(text)
        parts.port
        return {"scheme": parts.scheme, "host": parts.hostname}
    except ValueError:
        return {"scheme": None, "host": None}
print(json.dumps([seen(text) for text in json.load(sys.stdin)]))
`;

function seenByPython(texts: readonly string[]): readonly Seen[] {
  const { stdout, stderr } = spawnSync('python3', ['-I', '-c', inPython], { input: JSON.stringify(texts), maxBuffer: 64 * 1024 ** 2 });
  if (stderr.length > 0) throw new Error(stderr.toString());
  return JSON.parse(stdout.toString());
}

function seenByNode(text: string): Seen {
  if (!URL.canParse(text)) return { scheme: null, host: null };
  const { protocol, hostname } = new URL(text);
  return { scheme: protocol.slice(0, -1), host: hostname === '' ? null : hostname.toLowerCase().replace(/^\[|\]$/g, '') };
}

const pieces = {
  scheme: ['https', 'http', 'HTTPS', 'ftp', 'ws', 'ssh', 'foo+bar', 'javascript', 'data', 'file', 'ht\ttp', ' https', ''],
  slashes: ['://', '://', '://', '://', '://', ':', ':/', ':///', ':\\\\', ':/\\', '//', ''],
  user: [
    '',
    '',
    '',
    '',
    '',
    'a@',
    'good.example@',
    'a:b@',
    'good.example:80@',
    '@',
    'a%40',
    'good.example\\@',
    'good.example#@',
    'good.example?@',
    'good.example/@',
  ],
  host: [
    'good.example',
    'bad.example',
    'GOOD.example',
    'localhost',
    '127.0.0.1',
    '127.1',
    '0x7f.1',
    '0177.0.0.1',
    '2130706433',
    '[::1]',
    '[::FFFF:7f00:1]',
    '[0::1]',
    '[::ffff:1.2.3.4]',
    'good.example.',
    'good..example',
    'göod.example',
    'xn--bcher-kva.example',
    'g\u043e\u043ed.example',
    '%67ood.example',
    'good\uff0eexample',
    'good.example\u2100',
    'a_b.example',
    'good.example\0',
    'good\t.example',
    '256.1.1.1',
    '1.2.3',
    '',
    '-',
    'a-.example',
    '\u212Aindle.example',
    'good example',
    'good|example',
    'good^example',
    'good<example',
  ],
  port: ['', '', '', '', ':80', ':443', ':', ':0443', ':99999', ':8a', ':80:90', ':-1'],
  path: ['', '/', '/a/b', '/../a', '/%2e%2e/a', '//bad.example/', '/@bad.example', '/\\bad.example', ';a', '/a b', '/\u00e9', '\\a'],
  rest: ['', '', '?a=b', '#c', '?@bad.example', '#@bad.example', '?u=https://bad.example/', '?a\n', '#\\@bad.example/'],
} as const;

function generated(count: number): readonly string[] {
  const random = randomFrom(36);
  // Half of the parts are ordinary, so that enough URLs are decided.
  const one = (list: readonly string[]): string => list[random() < 0.5 ? 0 : Math.floor(random() * list.length)] ?? '';
  const texts = new Set<string>();
  while (texts.size < count) texts.add(Object.values(pieces).map(one).join(''));
  return [...texts];
}

const bases = ['https://good.example/a?b#c', 'http://127.0.0.1:80/x', 'https://[::1]/', 'ssh://good.example:22/a', 'http://a.good.example'];
const odd = '@:/\\?#%[].\t\n \0\u00ad\u3002\uff0f\uff20\u212a\u0130\u200b\ufeff\u00df\u2100;,|^<"&=+-_~!$\'(*';

/** URLs with one to three odd characters inside, or in place of others. */
function spoiled(count: number): readonly string[] {
  const random = randomFrom(36);
  const below = (max: number): number => Math.floor(random() * max);
  const texts = new Set<string>();
  while (texts.size < count) {
    let text = bases[below(bases.length)] ?? '';
    for (let left = 1 + below(3); left > 0; left -= 1) {
      const at = below(text.length + 1);
      text = text.slice(0, at) + odd.charAt(below(odd.length)) + text.slice(at + below(2));
    }
    texts.add(text);
  }
  return [...texts];
}

test.each([
  ['made of parts', generated(4_000), 150, 1_000],
  ['spoiled', spoiled(2_000), 60, 400],
])(
  'of URLs that are %s, what is decided is what Python and the WHATWG parser see',
  needs('python3'),
  (_how, texts, hostsMin, disagreeingMin) => {
    const python = seenByPython(texts);
    const wrong: unknown[] = [];
    const counted = { hosts: 0, disagreeing: 0 };
    for (const [at, text] of texts.entries()) {
      const [node, other = node] = [seenByNode(text), python[at]];
      const ours = { scheme: resultOf('url', text, 'scheme'), host: resultOf('url', text, 'host') };
      if (node.host !== other.host || node.scheme !== other.scheme) counted.disagreeing += 1;
      if (ours.host !== undecided) counted.hosts += 1;
      // A refusal is no other reading of the scheme.
      const isRead = ours.scheme === undecided || [node, other].every(({ scheme }) => scheme === null || scheme === ours.scheme);
      const isFound = ours.host === undecided || [node, other].every((seen) => seen.host === ours.host);
      if (!isRead || !isFound) wrong.push({ text, ours, node, other });
    }
    expect(wrong).toEqual([]);
    expect(counted.hosts).toBeGreaterThan(hostsMin);
    expect(counted.disagreeing).toBeGreaterThan(disagreeingMin);
  },
);
