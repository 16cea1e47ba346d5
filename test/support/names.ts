// The names that others see, from `deploy/names.json`.
import { readFileSync } from 'node:fs';

interface Names {
  /** Name of an npm package by its folder; a folder may be planned and not there yet. */
  readonly packages: Readonly<Record<string, string>>;
  readonly commands: readonly string[];
  readonly images: {
    readonly names: readonly string[];
    readonly defaultRepository: null;
    /** Stands in kustomize for the repository. It is not a valid name, so that no cluster pulls it. */
    readonly placeholderRepository: string;
  };
  /** Where the site of docs/ is served. It is published nowhere yet: the host is one of those that never exist (RFC 2606). */
  readonly documentation: string;
  readonly prefixes: { readonly environment: string; readonly metrics: string; readonly headers: string };
}

export const names: Names = JSON.parse(readFileSync(new URL('../../deploy/names.json', import.meta.url), 'utf8'));
