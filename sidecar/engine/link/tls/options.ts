// Reads the settings that secure the link to the control plane, from an operator or from the caller of the library.
// There are three forms. A problem is reported with the name of its setting, before any connection is made.
import { X509Certificate } from 'node:crypto';

/**
 * The forms in the library's options. `ca` is PEM text; `enrol` is `host:port`; `folder` holds tls.crt, tls.key and
 * ca.crt.
 */
export type TlsOptions =
  /**
   * The control plane is checked with these authorities and no others. The control plane identifies this sidecar only
   * by the key.
   */
  | { readonly ca: string }
  /**
   * In addition to `ca`: a certificate is requested from `enrol`, and renewed. The request uses the token of a service
   * account, or the key if there is no token.
   */
  | { readonly ca: string; readonly enrol: string; readonly tokenFile?: string }
  /** Another program keeps the files in `folder` up to date. They are read again repeatedly. */
  | { readonly folder: string };

export type LinkTls =
  | { readonly kind: 'checked'; readonly ca: string }
  | { readonly kind: 'enrolled'; readonly ca: string; readonly enrol: string; readonly tokenFile: string | null }
  | { readonly kind: 'given'; readonly folder: string };

export interface GivenTls {
  readonly ca: string | null;
  readonly enrol: string | null;
  readonly tokenFile: string | null;
  readonly folder: string | null;
}

/** The name by which the user knows each setting: the name of a variable or of an option. */
export type TlsNames = Readonly<Record<keyof GivenTls, string>>;

export const variableNames: TlsNames = {
  ca: 'TOLLGATE_CA',
  enrol: 'TOLLGATE_ENROL',
  tokenFile: 'TOLLGATE_TOKEN_FILE',
  folder: 'TOLLGATE_TLS_DIR',
};
export const optionNames: TlsNames = { ca: 'tls.ca', enrol: 'tls.enrol', tokenFile: 'tls.tokenFile', folder: 'tls.folder' };

/** Reads the settings. `tls` is null if nothing is configured: the address then decides whether TLS is used. */
export function readTls(given: GivenTls, names: TlsNames): { readonly tls: LinkTls | null } | { readonly problems: readonly string[] } {
  const { ca, enrol, tokenFile, folder } = given;
  const of = (field: keyof GivenTls, problem: string | null): readonly string[] => (problem === null ? [] : [`${names[field]} ${problem}`]);
  const problems = [
    ...(ca === null ? [] : of('ca', authoritiesProblem(ca))),
    ...(enrol === null ? [] : of('enrol', addressProblem(enrol))),
    ...(folder === null ? [] : of('folder', exclusiveProblem(given, names))),
    ...(enrol !== null && folder === null && ca === null
      ? of('enrol', `needs ${names.ca}: the authorities by which the issuing server is checked`)
      : []),
    ...(tokenFile !== null && enrol === null && folder === null
      ? of('tokenFile', `needs ${names.enrol}: the token is only used to request certificates there`)
      : []),
  ];
  if (problems.length > 0) return { problems };
  if (folder !== null) return { tls: { kind: 'given', folder } };
  if (ca === null) return { tls: null };
  return { tls: enrol === null ? { kind: 'checked', ca: plainPem(ca) } : { kind: 'enrolled', ca: plainPem(ca), enrol, tokenFile } };
}

function exclusiveProblem(given: GivenTls, names: TlsNames): string | null {
  const others = (['ca', 'enrol', 'tokenFile'] as const).filter((field) => given[field] !== null).map((field) => names[field]);
  if (others.length === 0) return null;
  return `cannot be used with ${others.join(' and ')}: its folder holds certificate, key and authorities; set one or the other`;
}

/** Returns the PEM text with real line ends. A variable with one line contains `\n` in place of them. */
const plainPem = (text: string): string => text.replaceAll(String.raw`\n`, '\n');

const pem = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** Returns the certificates of a bundle, each as PEM. Throws if one is invalid, or if there are none. */
export function certificatesIn(text: string): readonly string[] {
  const found = plainPem(text).match(pem) ?? [];
  if (found.length === 0) throw new Error('the text contains no certificate in PEM format');
  return found.map((one) => new X509Certificate(one).toString().trim());
}

export function authoritiesProblem(text: string): string | null {
  try {
    certificatesIn(text);
    return null;
  } catch {
    return 'must be certificates of authorities as PEM, from -----BEGIN CERTIFICATE----- on';
  }
}

export const addressProblem = (text: string): string | null =>
  /^(?:[A-Za-z0-9._-]+|\[[0-9a-fA-F:]+\]):[1-9][0-9]{0,4}$/.test(text) && Number(text.slice(text.lastIndexOf(':') + 1)) <= 65_535
    ? null
    : 'must be host:port';
