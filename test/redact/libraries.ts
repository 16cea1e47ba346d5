// The redactors that are scored: Tollgate's redaction with the default settings of a workspace, and two libraries for
// the same purpose. All work offline, and all leave `[redacted:…]`.
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
// Shorter than any secret that the library names. The library also names files and rules.
const namedMin = 8;

export function createTollgate(): Library {
  const redactor = createRedactor(plainRedaction, []);
  return {
    name: 'tollgate',
    redactText: (text) => redactor.redactText(text, createNumbers()).text,
    redactJson: (json) => redactor.redactJson(json, createNumbers()).text,
  };
}

/**
 * The recommended preset, with its one rule that is off by default, for AWS's key ids. Some reported ranges begin too
 * early and end within the secret. The library also names the secret unless it is configured to mask it. The text that
 * it names is replaced as well, so the wrong ranges do not reduce its score.
 */
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

/**
 * All of its patterns, for secrets and personal data, at its default confidence. Names and addresses of people are not
 * labelled here, so they are switched off. By default it learns between calls and writes what it learned to disk. This
 * is off, because the others do not learn.
 */
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
