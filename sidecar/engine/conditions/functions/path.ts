// `path(text)`: an absolute POSIX path, compared by its folders. It reads only the text: a symbolic link on the disk may
// lead elsewhere. A text that programs read in different ways is undecided.
import type { Site } from '../environment.ts';
import { OwnValue, type Undecided } from '../values.ts';
import { type CelFunction, isAffordable, quoted } from './function.ts';

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

/**
 * Returns the path without `.`, `..`, repeated slashes and a final slash. Null: the text is no absolute path, or
 * programs read it in different ways.
 */
export function normalPath(text: string): string | null {
  // Two slashes at the start name another machine on some systems.
  if (!text.startsWith('/') || text.startsWith('//') || text.length > pathLengthMax || !isReadAlike(text)) return null;
  const folders: string[] = [];
  for (const name of text.split('/')) {
    if (name === '..') folders.pop();
    else if (name !== '' && name !== '.') folders.push(name);
  }
  return `/${folders.join('/')}`;
}

/** Printable ASCII without the percent sign and the backslash. */
const plain = /^[ -$&-[\]-~]*$/;
// Control and format characters, unpaired surrogates, and characters that are not shown: programs remove or replace them.
// The backslash separates folders on other systems.
const misread = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\\]/u;
// Characters that some character sets convert to a dot, a slash or a backslash. Unicode's own normalisation does not.
const lookalike = /[\u00a5\u2044\u20a9\u2215\u2216\u29f5\u29f8\u29f9]/;
// Names that some programs read as `.` or `..`: they remove spaces and dots at the end, or what follows a semicolon.
const nearlyDots = /(?:^|\/)(?!\.\.?(?:\/|$))[. \u3002]+(?:[;/]|$)/;

/** Whether programs that decode percent-encoding, or that normalise Unicode, find the same folders as those that do not. */
function isReadAlike(text: string): boolean {
  if (plain.test(text)) return !nearlyDots.test(text);
  const normalised = text.normalize('NFKC');
  const decoded = percentDecoded(normalised)?.normalize('NFKC');
  if (decoded === undefined || separators(decoded) !== separators(text)) return false;
  return [text, decoded].every((one) => !misread.test(one) && !lookalike.test(one) && !nearlyDots.test(one));
}

const separators = (text: string): number => text.split(/[./\\]/).length;

/** Undefined: the text is encoded in a form that programs read in different ways, or it is encoded twice. */
function percentDecoded(text: string): string | undefined {
  if (!/%(?:[0-9a-f]{2}|u[0-9a-f]{4})/i.test(text)) return text;
  try {
    const decoded = decodeURIComponent(text);
    return decoded.includes('%') ? undefined : decoded;
  } catch {
    return undefined;
  }
}

function toPath(value: unknown, site: Site): PathValue | Undecided {
  if (value instanceof PathValue) return value;
  if (typeof value !== 'string') return site.type;
  const normal = normalPath(value);
  return normal === null ? site.unclear : new PathValue(normal);
}

const isWithin = (path: string, folder: string): boolean => folder === '/' || path === folder || path.startsWith(`${folder}/`);

const path: CelFunction = {
  arity: [1, 1],
  apply: ([value], env, site) => (typeof value === 'string' && !isAffordable([value], env) ? site.budget : toPath(value, site)),
  prepare: ([text]) => {
    if (text === undefined) return undefined;
    const normal = normalPath(text);
    if (normal === null) return `the path ${quoted(text)}, which is no absolute path that all programs read alike`;
    const value = new PathValue(normal);
    return () => value;
  },
};

const within: CelFunction = {
  arity: [2, 2],
  apply: ([value, folder], env, site) => {
    if (!(value instanceof PathValue) || typeof folder !== 'string') return site.type;
    if (!isAffordable([folder], env)) return site.budget;
    const normal = normalPath(folder);
    return normal === null ? site.unclear : isWithin(value.text, normal);
  },
  prepare: ([, folder]) => {
    if (folder === undefined) return undefined;
    const normal = normalPath(folder);
    if (normal === null) return `the folder ${quoted(folder)}, which is no absolute path that all programs read alike`;
    return ([value], _env, site) => (value instanceof PathValue ? isWithin(value.text, normal) : site.type);
  },
};

export const pathFunctions: Readonly<Record<string, CelFunction>> = { path, within };
