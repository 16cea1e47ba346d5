// Finds tokens for publishing packages and images.
import type { Detector } from '../../detector.ts';
import { type Form, tokenDetector } from './token.ts';

const forms: readonly Form[] = [
  ['npm_', /[A-Za-z0-9]{36}/],
  ['NpmToken.', /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/],
  ['rubygems_', /[0-9a-f]{48}/],
  ['cio', /[A-Za-z0-9]{32}/],
  ['dckr_pat_', /[\w-]{27,36}/],
  ['dckr_oat_', /[\w-]{27,36}/],
  // Artifactory: API keys, and reference tokens, which begin with `reftkn:` in base64.
  ['AKCp', /[A-Za-z0-9]{60,90}/],
  ['cmVmdGtu', /[A-Za-z0-9]{56}/],
  ['CLOJARS_', /[0-9a-f]{60}/],
  ['oy2', /[a-z0-9]{43}/],
  ...['ort', 'uut', 'out', 'oat'].map((name): Form => [`packagist_${name}_`, /[0-9a-f]{64,80}/]),
  ['ovsxp_', /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/],
  ['ovsxat_', /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/],
  // Anaconda, in URLs of channels.
  ...['anaconda.org', 'anaconda.com', 'anaconda.cloud'].map(
    (host): Form => [`${host}/t/`, /([a-z]{2}-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})/],
  ),
  ['pfx_', /[A-Za-z0-9]{30,60}/],
  ['jsrp_', /[A-Za-z0-9]{30,60}/],
];

// A PyPI token is a macaroon. Its length grows with its restrictions.
const longForms: readonly Form[] = [['pypi-Ag', /[\w-]{50,1000}/]];

export const registryTokens: readonly Detector[] = [
  tokenDetector('registry_token', 256, forms),
  tokenDetector('registry_token', 1024, longForms),
];
