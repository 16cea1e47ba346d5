// Finds keys of cloud providers. Such a key gives access to an account, a project or a storage. The forms are those
// that the providers document or issue.
import type { Detector } from '../../detector.ts';
import { hasDigit, isMixed, isNoPlaceholder } from './drawn.ts';
import { type Behind, type MarkedForm, markedDetector } from './marked.ts';
import { type Form, tokenDetector } from './token.ts';

/** 40 characters of base64: plain, percent-encoded, or with escaped slashes. */
export const awsSecret = /(?:[A-Za-z0-9+/]|%2[BbFf]|\\\/){40}/;
const awsId = /[A-Z0-9]{16}/;
const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/;

const shortForms: readonly Form[] = [
  // AWS: access key ids, with the secret that is written next to them. `AIDA…` and `AROA…` only name users and roles.
  ['AKIA', awsId, { isReal: isNoPlaceholder, partner: [awsSecret, isMixed] }],
  ['ASIA', awsId, { isReal: hasDigit, partner: [awsSecret, isMixed] }],
  ['ABIA', awsId, { isReal: hasDigit }],
  ['ACCA', awsId, { isReal: hasDigit }],
  ['ABSK', /[A-Za-z0-9+/]{80,200}={0,2}/],
  ['amzn.mws.', uuid],
  // Google: API keys, OAuth client secrets, access and refresh tokens, HMAC ids.
  ['AIza', /[\w-]{35}/],
  ['GOCSPX-', /[\w-]{28}/],
  ['ya29.', /[\w-]{20,230}(?:\.[\w-]{20,200})?/],
  ['1//0', /[\w-]{40,200}/],
  ['4/0A', /[\w-]{40,120}/],
  ['AQ.Ab', /[\w-]{40,100}/],
  ['GOOG', /[A-Z0-9]{20}|1[A-Z0-9]{56}/, { isReal: hasDigit, partner: [awsSecret, isMixed] }],
  // DigitalOcean: tokens and Spaces ids.
  ...['dop', 'doo', 'dor'].map((kind): Form => [`${kind}_v1_`, /[0-9a-f]{64}/]),
  ['DO00', /[A-Z0-9]{16}/, { isReal: hasDigit, partner: [/[A-Za-z0-9+/]{43}/, isMixed] }],
  ['DO801', /[A-Z0-9]{15}/, { isReal: hasDigit, partner: [/[A-Za-z0-9+/]{43}/, isMixed] }],
  // Alibaba, Tencent, Volcengine, Baidu, Naver, JD.
  ['LTAI', /[A-Za-z0-9]{12,24}/, { partner: [/[A-Za-z0-9]{30}/, isMixed] }],
  ['STS.N', /[A-Za-z0-9]{20,30}/, { partner: [/[A-Za-z0-9]{40,48}/, isMixed] }],
  ['AKID', /[A-Za-z0-9]{32}/, { partner: [/[A-Za-z0-9]{32}/, isMixed] }],
  ['IKID', /[A-Za-z0-9]{32}/, { partner: [/[A-Za-z0-9]{32}/, isMixed] }],
  ['AKLT', /[A-Za-z0-9]{40,60}/],
  ['ALTAK', /[A-Za-z0-9]{21}/, { partner: [/[0-9a-f]{32}/] }],
  ['bce-v3/ALTAK-', /[A-Za-z0-9]{21}\/[0-9a-f]{40}/],
  ['ncp_iam_', /[A-Za-z0-9]{26,40}/],
  ['JDC_', /[A-Z0-9]{28,32}/, { isReal: hasDigit }],
  // Scaleway: its secrets have the form of any UUID, so only a secret next to an id is recognised.
  ['SCW', /[A-Z0-9]{17}/, { isReal: hasDigit, partner: [uuid] }],
  // Clouds in China call a pair of keys `ak` and `sk`. These are the forms of `sk`.
  ...['sk=', 'sk = ', 'sk: '].map((name): Form => [name, /\\?["']?([A-Za-z0-9]{40,48})/, { isReal: isMixed }]),
  // Exoscale.
  ['EXO', /[0-9a-f]{24}/, { partner: [/[\w-]{43}/, isMixed] }],
  // Yandex: API keys, static keys, OAuth tokens.
  ['AQVN', /[\w-]{35,38}/],
  ['YCAJE', /[\w-]{20}/, { partner: [/YC[\w-]{38}/] }],
  ...['YCM', 'YCN', 'YCO', 'YCP'].map((prefix): Form => [prefix, /[\w-]{37}/]),
  ['y0_', /[\w-]{50,120}/],
  ['t1.', /[\w-]{60,250}={0,2}\.[\w-]{86}={0,2}/],
  // Heroku, Cloudflare, Backblaze, Akamai, Pulumi, Render.
  ['HRKU-', /[\w-]{36,80}/],
  ['v1.0-', /[0-9a-f]{24}-[0-9a-f]{146}/],
  ...['cfut_', 'cfat_', 'cfk_'].map((prefix): Form => [prefix, /[A-Za-z0-9_-]{40,60}/]),
  ...['K001', 'K002', 'K003', 'K004', 'K005'].map((prefix): Form => [prefix, /[A-Za-z0-9+/]{27}/]),
  ['akab-', /[a-z0-9]{16}-[a-z0-9]{16}/],
  ['pul-', /[0-9a-f]{40}/],
  ['rnd_', /[A-Za-z0-9]{28,40}/],
];

// Azure: secrets of applications, and keys that contain the mark of their service.
const behind = (of: RegExp, length: number): Behind => ({ of, min: length, max: length });
const base64 = /[A-Za-z0-9+/]/;
const azureForms: readonly MarkedForm[] = [
  ...'0123456789'.split('').map((digit): MarkedForm => [behind(/[\w.~-]/, 3), `${digit}Q~`, /[\w.~-]{31,34}/]),
  ...['+ASt', '+ABa', '+AMC', 'ACDb', 'APIM'].map((mark): MarkedForm => [behind(base64, 76), mark, /[A-Za-z0-9+/]{6,7}={1,2}/]),
  ...['+ASb', '+AEh', '+ARm', 'AIoT', 'AzCa', 'AzEG'].map((mark): MarkedForm => [behind(base64, 33), mark, /[A-Za-z0-9+/]{5,7}={1,2}/]),
  [behind(/[\w-]/, 44), 'AzFu', /[\w-]{5,8}={0,2}/],
  [behind(/[A-Za-z0-9]/, 42), 'AzSe', /[A-Za-z0-9]{6}/],
  [behind(base64, 42), '+ACR', /[A-Za-z0-9+/]{6}/],
  [behind(/[A-Za-z0-9]/, 52), 'JQQJ99', /[A-Za-z0-9]{20,32}(?:==)?/],
];

// Credentials that are valid only for some hours, and contain their permissions.
const longForms: readonly Form[] = [
  ['IQoJb3JpZ2lu', /[A-Za-z0-9+/%]{100,1900}={0,2}/],
  ['FwoGZXIvYXdz', /[A-Za-z0-9+/%]{100,1900}={0,2}/],
  ['FQoGZXIvYXdz', /[A-Za-z0-9+/%]{100,1900}={0,2}/],
  ['bedrock-api-key-', /[A-Za-z0-9+/]{100,1900}={0,2}/],
];

export const cloudKeys: readonly Detector[] = [
  tokenDetector('cloud_key', 512, shortForms),
  tokenDetector('cloud_key', 2048, longForms),
  markedDetector('cloud_key', 64, azureForms),
];
