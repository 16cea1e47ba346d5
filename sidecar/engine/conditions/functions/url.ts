// `url(text)`: an absolute URL. Its parts are those of the WHATWG standard. Programs disagree about the host of some URLs,
// for example of `https://good.example\@bad.example`: such a URL is undecided. If only its path can be read in different
// ways, only the path is undecided.
import type { Site } from '../environment.ts';
import { OwnValue, type Undecided } from '../values.ts';
import { type CelFunction, ofTexts, quoted } from './function.ts';
import { normalPath } from './path.ts';

const urlLengthMax = 8_192;

/** A field is null if the URL has no such part, or if programs read it in different ways. */
interface UrlParts {
  readonly scheme: string;
  readonly host: string | null;
  readonly port: bigint | null;
  readonly path: string | null;
  /** What follows the path. */
  readonly rest: string;
}

const fields = ['scheme', 'host', 'port', 'path'] as const;

class UrlValue extends OwnValue {
  readonly typeName = 'url';
  readonly parts: UrlParts;
  /** The value of fields that are null. */
  readonly unclear: Undecided;
  constructor(parts: UrlParts, unclear: Undecided) {
    super();
    this.parts = parts;
    this.unclear = unclear;
  }
  equals(other: UrlValue): boolean | Undecided {
    const [ours, theirs] = [this.parts, other.parts];
    const isOther = (name: keyof UrlParts): boolean => ours[name] !== null && theirs[name] !== null && ours[name] !== theirs[name];
    if (isOther('rest') || fields.some(isOther)) return false;
    return fields.every((name) => ours[name] !== null && theirs[name] !== null) || this.unclear;
  }
  override field(name: string): unknown {
    const known = fields.find((one) => one === name);
    return known === undefined ? undefined : (this.parts[known] ?? this.unclear);
  }
}

/** The port of a URL that names none. Some programs find the host of these schemes also without `//`. */
const webSchemes: Readonly<Record<string, bigint>> = { http: 80n, https: 443n, ws: 80n, wss: 443n, ftp: 21n };
/** What follows these schemes is a script, data or a file, also if it looks like a host. */
const hostlessSchemes = new Set(['javascript', 'vbscript', 'data', 'blob', 'about', 'filesystem', 'file']);
/** Some programs remove this word from the start of a URL. */
const wrapper = 'url';

// White space, control characters, the backslash and unpaired surrogates: programs remove or convert them.
const misread = /[\s\p{Cc}\p{Cf}\p{Cs}\\]/u;
const withScheme = /^([A-Za-z][A-Za-z0-9+.-]+):/;
const withHost = /^[A-Za-z0-9+.-]+:\/\/([^/?#]*)([^?#]*)(.*)$/s;
const ascii = /^[!-~]*$/;
const label = '[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?';
const hostAndPort = new RegExp(`^(${label}(?:\\.${label})*|\\[[0-9a-f:.]{2,45}\\])(?::(0|[1-9]\\d{0,4}))?$`);

/** Null: the text is no absolute URL, or programs disagree about its host. */
function partsOf(text: string): UrlParts | null {
  if (misread.test(text)) return null;
  const scheme = withScheme.exec(text)?.[1]?.toLowerCase();
  if (scheme === undefined || scheme === wrapper) return null;
  const isWeb = Object.hasOwn(webSchemes, scheme);
  const written = withHost.exec(text);
  if (hostlessSchemes.has(scheme) || (written === null && !isWeb))
    return URL.canParse(text) ? { scheme, host: null, port: null, path: null, rest: text.slice(scheme.length) } : null;
  const [, authority = '', path = '', rest = ''] = written ?? [];
  // Some letters outside of ASCII have a lower case in ASCII.
  const [, host, port] = ascii.test(authority) ? (hostAndPort.exec(authority.toLowerCase()) ?? []) : [];
  // Some programs end the host only at a slash. They would find the host behind the `@`.
  if (host === undefined || (path === '' && rest.includes('@')) || !URL.canParse(text)) return null;
  const url = new URL(text);
  // A host that is not written as the WHATWG standard writes it, such as `0x7f.1`, is another host for other programs.
  if ((isWeb ? url.hostname : webHostname(host)) !== host) return null;
  return {
    scheme,
    host: host.startsWith('[') ? host.slice(1, -1) : host,
    port: port === undefined ? ((isWeb ? webSchemes[scheme] : null) ?? null) : BigInt(port),
    path: pathOf(path, url),
    rest,
  };
}

/** Returns the host as a URL of the web has it. Null: it cannot have such a host. */
function webHostname(host: string): string | null {
  const url = `http://${host}/`;
  return URL.canParse(url) ? new URL(url).hostname : null;
}

/** Null: programs that decode the path, or resolve its `..`, find another path. */
function pathOf(written: string, { pathname }: URL): string | null {
  const path = written === '' ? '/' : written;
  return normalPath(path) !== null && (pathname === '' ? '/' : pathname) === path ? path : null;
}

// A condition reads several fields of one URL, so the last one is remembered.
let last: { readonly text: string; readonly parts: UrlParts | null } = { text: '', parts: null };

function parsed(text: string): UrlParts | null {
  if (text.length > urlLengthMax) return null;
  if (last.text !== text) last = { text, parts: partsOf(text) };
  return last.parts;
}

function toUrl(text: string, { unclear }: Site): UrlValue | Undecided {
  const parts = parsed(text);
  return parts === null ? unclear : new UrlValue(parts, unclear);
}

export const urlFunctions: Readonly<Record<string, CelFunction>> = {
  url: {
    ...ofTexts(1, ([text = ''], site) => toUrl(text, site)),
    prepare: ([text]) =>
      text === undefined || parsed(text) !== null ? undefined : `the URL ${quoted(text)}, whose host not all programs read alike`,
  },
};
