// What is scored: Tollgate's redaction as a workspace that adapts nothing has it, and two libraries that are used for the same. All work
// offline, and all leave `[redacted:…]`.
import { OpenRedaction } from '@openredaction/core';
import { lintSource } from '@secretlint/core';
import { creator } from '@secretlint/secretlint-rule-preset-recommend';
import type { SecretLintCoreResultMessage } from '@secretlint/types';
import { plainRedaction } from '@tollgate/proto/contract';
import { createNumbers, createRedactor } from '@tollgate/sidecar/engine/redact';

export interface Library {
  readonly name: string;
  readonly redactText: (text: string) => string | Promise<string>;
  readonly redactJson: (json: string) => string | Promise<string>;
}

const mark = '[redacted:found]';
// Shorter than any secret that it names; it names files and rules too.
const namedMin = 8;

export function createTollgate(): Library {
  const redactor = createRedactor(plainRedaction, []);
  return {
    name: 'tollgate',
    redactText: (text) => redactor.redactText(text, createNumbers()).text,
    redactJson: (json) => redactor.redactJson(json, createNumbers()).text,
  };
}

/** The recommended preset with the one rule of it that is off by default, for AWS's key ids. Some ranges that it reports begin too early and
 * end within the secret; it also names the secret, unless it is told to mask it: what it names is replaced as well, so it loses nothing by that. */
export function createSecretlint(): Library {
  const rules = [{ id: '@secretlint/secretlint-rule-aws', options: { enableIDScanRule: true } }];
  const config = { rules: [{ id: '@secretlint/secretlint-rule-preset-recommend', rule: creator, rules }] };
  const redact =
    (filePath: string) =>
    async (content: string): Promise<string> => {
      const source = { content, filePath, contentType: 'text' } as const;
      const { messages } = await lintSource({ source, options: { config, noPhysicFilePath: true, maskSecrets: false } });
      return replaceRanges(
        content,
        messages.map((message) => rangeOf(content, message)),
      );
    };
  return { name: 'secretlint', redactText: redact('payload.txt'), redactJson: redact('payload.json') };
}

type Range = readonly [start: number, end: number];

function rangeOf(content: string, { range, data }: SecretLintCoreResultMessage): Range {
  for (const named of Object.values(data ?? {})) {
    const at = typeof named === 'string' && named.length >= namedMin ? content.indexOf(named, range[0]) : -1;
    if (at !== -1) return [at, at + String(named).length];
  }
  return range;
}

/** All of its patterns, for secrets and personal data, at its default confidence; names and addresses of people are not labelled here, so it
 * is not asked for them. It learns between calls by default and writes that to disk: off, as the others do not. */
export function createOpenRedaction(): Library {
  const detector = new OpenRedaction({ enableLearning: false, includeNames: false, includeAddresses: false });
  const redact = async (text: string): Promise<string> => {
    const { redacted, redactionMap } = await detector.detect(text);
    return Object.keys(redactionMap).reduce((result, placeholder) => result.replaceAll(placeholder, mark), redacted);
  };
  return { name: 'openredaction', redactText: redact, redactJson: redact };
}

export function replaceRanges(text: string, ranges: readonly Range[]): string {
  let result = '';
  let copied = 0;
  for (const [start, end] of ranges.toSorted((a, b) => a[0] - b[0])) {
    if (start >= copied) result += text.slice(copied, start) + mark;
    copied = Math.max(copied, end);
  }
  return result + text.slice(copied);
}
