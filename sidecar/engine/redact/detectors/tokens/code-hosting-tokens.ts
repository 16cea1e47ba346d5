// Finds tokens of code hosting services.
import type { Detector } from '../../detector.ts';
import { type MarkedForm, markedDetector } from './marked.ts';
import { type Form, tokenDetector } from './token.ts';

// The checksum at the end of GitHub's tokens is not checked: a token with a typing error still reveals most of a
// secret.
const github = /[A-Za-z0-9]{36,255}/;
/** Newer tokens of GitLab have two more parts, for its routing. */
const gitlab = /[\w-]{20,300}(?:\.[0-9a-z]{2}\.[0-9a-z]{7,12})?/;
const gitlabPrefixes = ['pat', 'dt', 'rt', 'rtr', 'cbt', 'ptt', 'ft', 'imt', 'agent', 'oas', 'soat', 'ffct', 'wt'];

const forms: readonly Form[] = [
  ...['ghp_', 'gho_', 'ghu_', 'ghs_'].map((prefix): Form => [prefix, github]),
  ['ghr_', /[A-Za-z0-9]{36,255}/],
  ['github_pat_', /[A-Za-z0-9]{22}_[A-Za-z0-9]{59}/],
  ['v1.', /[0-9a-f]{40}/],
  ...gitlabPrefixes.map((name): Form => [`gl${name}-`, gitlab]),
  ['GR1348941', /[\w-]{20}/],
  // Bitbucket: access tokens of repositories and workspaces, app passwords. Gitea and Forgejo: OAuth tokens.
  ['ATCTT3xFfG', /[\w-]{60,250}(?:=[0-9A-F]{8})?/],
  ['ATBB', /[A-Za-z0-9]{32,40}/],
  ...['gta_', 'gto_', 'gtr_'].map((prefix): Form => [prefix, /[a-z0-9]{50,58}/]),
  // Sourcegraph, Phabricator.
  ['sgp_', /(?:(?:[0-9a-f]{16}|local)_)?[0-9a-f]{40}/],
  ['slk_', /[0-9a-f]{64}/],
  ['api-', /[a-z2-7]{28}/],
  ['cli-', /[a-z2-7]{28}/],
  // CircleCI: personal and project tokens.
  ['CCIPAT_', /[A-Za-z0-9]{20,24}_[0-9a-f]{40}/],
  ['CCIPRJ_', /[A-Za-z0-9]{20,24}_[0-9a-f]{40}/],
];

// Tokens of Azure DevOps have their mark in the middle.
const azureDevOps: readonly MarkedForm[] = [[{ of: /[A-Za-z0-9]/, min: 76, max: 76 }, 'AZDO', /[A-Za-z0-9]{4}/]];

export const codeHostingTokens: readonly Detector[] = [
  tokenDetector('code_hosting_token', 400, forms),
  markedDetector('code_hosting_token', 16, azureDevOps),
];
