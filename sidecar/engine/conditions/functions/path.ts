// `path(text)`: an absolute POSIX path, compared by its folders. It reads only the text: a symbolic link on the disk may
// lead elsewhere. A text that programs read in different ways is undecided.
import type { Site } from '../environment.ts';
import { OwnValue, type Undecided } from '../values.ts';
import type { CelFunction } from './function.ts';

const pathLengthMax = 4_096;

class PathValue extends OwnValue {
  readonly typeName = 'path';
  /** Without `.`, `..`, repeated slashes and a final slash. */
  readonly text: string;
  constructor(text: string) {
    super();
    this.text = text;
  }
  equals(other: PathValue): boolean {
    return this.text === other.text;
  }
}

// Control characters, and the backslash, which separates folders on other systems.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is searched
const misread = /[\u0000-\u001f\u007f\\]/;
// Percent-encoded dots and separators, which some tools decode.
const encoded = /%(?:2e|2f|5c|00|25)/i;

/** Returns the folders and the name. Null: the text is no absolute path, or it can be read in another way. */
export function normalPath(text: string): string | null {
  if (!text.startsWith('/') || text.length > pathLengthMax || misread.test(text) || encoded.test(text)) return null;
  const normal = resolved(text);
  // Characters such as U+FF0E or U+FF0F become dots and slashes in tools that normalise Unicode.
  return text === text.normalize('NFC') || resolved(text.normalize('NFKC')) === normal.normalize('NFKC') ? checked(text, normal) : null;
}

function checked(text: string, normal: string): string | null {
  const compatible = text.normalize('NFKC');
  const count = (of: string): number => of.split(/[/.\\]/).length;
  return count(compatible) === count(text) ? normal : null;
}

function resolved(text: string): string {
  const folders: string[] = [];
  for (const name of text.split('/')) {
    if (name === '..') folders.pop();
    else if (name !== '' && name !== '.') folders.push(name);
  }
  return `/${folders.join('/')}`;
}

function toPath(value: unknown, site: Site): PathValue | Undecided {
  if (value instanceof PathValue) return value;
  if (typeof value !== 'string') return site.type;
  const normal = normalPath(value);
  return normal === null ? site.unclear : new PathValue(normal);
}

const isWithin = (path: string, folder: string): boolean => folder === '/' || path === folder || path.startsWith(`${folder}/`);

export const pathFunctions: Readonly<Record<string, CelFunction>> = {
  path: { arity: [1, 1], apply: ([value], _env, site) => toPath(value, site) },
  within: {
    arity: [2, 2],
    apply: ([path, folder], _env, site) => {
      if (!(path instanceof PathValue) || typeof folder !== 'string') return site.type;
      const normal = normalPath(folder);
      return normal === null ? site.unclear : isWithin(path.text, normal);
    },
    prepare: ([, folder]) =>
      folder === undefined || normalPath(folder) !== null ? undefined : `the folder ${JSON.stringify(folder.slice(0, 64))}, which is no absolute path`,
  },
};
