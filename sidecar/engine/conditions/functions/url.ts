// `url(text)`: an absolute URL. Its parts are those of the WHATWG standard. Programs disagree about the host of some URLs,
// for example of `https://good.example\@bad.example`: such a URL is undecided. If only its path can be read in different
// ways, only the path is undecided.
import { Site } from '../environment.ts';
import { OwnValue, Undecided } from '../values.ts';
import { type CelFunction, ofTexts, quoted } from './function.ts';
import { normalPath } from './path.ts';

const urlLengthMax = 8_192;

/** `Undecided`: the URL has no such part, or programs read it in different ways. */
type UrlField = string | bigint | Undecided;

class UrlValue extends OwnValue {
  readonly typeName = 'url';
  readonly fields: ReadonlyMap<string, UrlField>;
  /** What follows the path. */
  readonly rest: string;
  constructor(scheme: string, host: UrlField, port: UrlField, path: UrlField, rest: string) {
    super();
    this.fields = new Map<string, UrlField>([
      ['scheme', scheme],
      ['host', host],
      ['port', port],
      ['path', path],
    ]);
    this.rest = rest;
  }
  equals(other: UrlValue): boolean | Undecided {
    if (this.rest !== other.rest) return false;
    let unclear: Undecided | null = null;
    for (const [name, ours] of this.fields) {
      const theirs = other.fields.get(name);
      if (ours instanceof Undecided) unclear ??= ours;
      else if (theirs instanceof Undecided) unclear ??= theirs;
      else if (ours !== theirs) return false;
    }
    return unclear ?? true;
  }
  override field(name: string): unknown {
    return this.fields.get(name);
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
function parseUrl(text: string, { unclear }: Site): UrlValue | null {
  if (text.length > urlLengthMax || misread.test(text) || !URL.canParse(text)) return null;
  const scheme = withScheme.exec(text)?.[1]?.toLowerCase();
  if (scheme === undefined || scheme === wrapper) return null;
  const parts = withHost.exec(text);
  const isWeb = Object.hasOwn(webSchemes, scheme);
  if (hostlessSchemes.has(scheme) || (parts === null && !isWeb))
    return new UrlValue(scheme, unclear, unclear, unclear, text.slice(scheme.length));
  const [, authority = '', path = '', rest = ''] = parts ?? [];
  // Some letters outside of ASCII have a lower case in ASCII.
  const [, host, port] = ascii.test(authority) ? (hostAndPort.exec(authority.toLowerCase()) ?? []) : [];
  if (host === undefined || !isReadAlike(host)) return null;
  // Some programs end the host only at a slash. They would find the host behind the `@`.
  if (path === '' && rest.includes('@')) return null;
  const standard = isWeb ? webSchemes[scheme] : undefined;
  const name = host.startsWith('[') ? host.slice(1, -1) : host;
  return new UrlValue(
    scheme,
    name,
    port === undefined ? (standard ?? unclear) : BigInt(port),
    pathOf(path, new URL(text)) ?? unclear,
    rest,
  );
}

/** Whether the host is written as the WHATWG standard writes it. An IPv4 address such as `0x7f.1` is not. */
function isReadAlike(host: string): boolean {
  const alone = `http://${host}/`;
  return URL.canParse(alone) && new URL(alone).hostname === host;
}

/** Null: programs that decode the path, or resolve its `..`, find another path. */
function pathOf(written: string, { pathname }: URL): string | null {
  const path = written === '' ? '/' : written;
  return normalPath(path) !== null && (pathname === '' ? '/' : pathname) === path ? path : null;
}

/** The place of a URL that is only checked. */
const checked = new Site('url()');

export const urlFunctions: Readonly<Record<string, CelFunction>> = {
  url: {
    ...ofTexts(1, ([text = ''], site) => parseUrl(text, site) ?? site.unclear),
    prepare: ([text]) =>
      text === undefined || parseUrl(text, checked) !== null
        ? undefined
        : `the URL ${quoted(text)}, whose host not all programs read alike`,
  },
};
