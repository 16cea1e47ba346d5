// Finds tokens of services for work and sales in an organisation: documents, issues, shops, customers, maps, content.
import type { Detector } from '../../detector.ts';
import { isMixed } from './drawn.ts';
import { type MarkedForm, markedDetector } from './marked.ts';
import { type Form, tokenDetector } from './token.ts';

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/;
const hex40 = /[0-9a-f]{40}/;
// The separator in an Asana token: plain, or encoded as in a URL.
const asana = String.raw`(?:\/|%2F)`;

const all = (prefixes: readonly string[], rest: RegExp): readonly Form[] => prefixes.map((prefix): Form => [prefix, rest]);

const forms: readonly Form[] = [
  // Issues and documents: Linear, Notion, Atlassian, Trello, Asana, ClickUp, Airtable, Figma, Typeform, Dropbox, Zoho.
  ['lin_api_', /[A-Za-z0-9]{32,48}/],
  ['lin_oauth_', /[0-9a-f]{64}/],
  ['lin_wh_', /[A-Za-z0-9]{32,48}/],
  ['ntn_', /[A-Za-z0-9]{40,54}/],
  ['secret_', /[A-Za-z0-9]{43}/],
  ...all(['ATATT3xFfG', 'ATSTT3xFfG'], /[\w-]{60,300}(?:=[0-9A-F]{8})?/),
  ['ATTA', /[0-9A-Za-z]{60,76}/],
  ...all(
    ['0', '1', '2'].flatMap((version) => [`${version}/`, `${version}%2F`]),
    new RegExp(String.raw`\d{12,20}(?:${asana}\d{12,20})?(?::|%3A)[0-9a-f]{32}`),
  ),
  ['pk_', /\d{5,10}_[A-Z0-9]{32}/],
  ...all(['figd_', 'figu_', 'figo_', 'figoh_', 'figuh_'], /[\w-]{36,48}/),
  ['tfp_', /[\w-]{38,64}/],
  ['sl.', /[\w-]{100,300}/],
  ['1000.', /[0-9a-f]{32}\.[0-9a-f]{32}/],
  // Shops and customers: Shopify, HubSpot, Klaviyo, Intercom (`tok:` in base64), Salesforce, Amazon, Shippo, EasyPost,
  // Duffel, Remote.
  ...all(['shpat_', 'shpss_', 'shpca_', 'shppa_', 'shpua_', 'shpit_', 'shprt_', 'shpcdev_', 'shptka_'], /[0-9a-fA-F]{32,64}/),
  ...all(
    ['na1', 'na2', 'eu1', 'ap1'].map((region) => `pat-${region}-`),
    uuid,
  ),
  ['pk_', /[0-9a-f]{34}/],
  ['dG9rO', /[A-Za-z0-9+/]{50,64}={0,2}/],
  ['00D', /[A-Za-z0-9]{12,15}![\w.]{80,140}/],
  ['Atzr|', /[\w-]{80,380}/],
  ['Atza|', /[\w-]{80,380}/],
  ['amzn1.oa2-cs.v1.', /[0-9a-f]{64}/],
  ...all(['shippo_live_', 'shippo_test_'], hex40),
  ...all(['EZAK', 'EZTK'], /[A-Za-z0-9]{54}/),
  ...all(['duffel_live_', 'duffel_test_'], /[\w-]{43}/),
  ...all(['ra_live_', 'ra_test_'], /[\w-]{30,60}/),
  ...all(['persona_sandbox_', 'persona_production_'], uuid),
  ...all(['api_live', 'api_sandbox'], /(?:_us|_ca)?\.[\w-]{11}\.[\w-]{32}/),
  ...all(['secret-live-', 'secret-test-'], /[\w-]{35}[\w=]/),
  // Maps and content: Mapbox, Contentful, Segment, Statsig, PubNub, ConfigCat, Adobe.
  ['sk.eyJ', /[\w-]{30,200}\.[\w-]{20,24}/],
  ['tk.eyJ', /[\w-]{30,200}\.[\w-]{20,24}/],
  ['CFPAT-', /[\w-]{43}/],
  ['sgp_', /[A-Za-z0-9]{64}/],
  ['secret-', /[A-Za-z0-9]{40,48}/, { isReal: isMixed }],
  ['console-', /[A-Za-z0-9]{40,48}/, { isReal: isMixed }],
  ['sec-c-', /[A-Za-z0-9]{48}/],
  ['configcat-sdk-1/', /[\w-]{22}\/[\w-]{22}/],
  ['p8e-', /[a-z0-9]{32}/],
  ['apify_api_', /[A-Za-z0-9]{32,44}/],
  ['apify_proxy_', /[A-Za-z0-9]{32,44}/],
  ['SSWS 00', /([\w-]{40})/],
];

// Many frequent words begin like these forms. Therefore these forms are in a separate detector with a shorter maximum
// length, so that a stream holds back less text after such a word.
const shortForms: readonly Form[] = [['pat', /[A-Za-z0-9]{14}\.[0-9a-f]{64}/]];

const maxMind: readonly MarkedForm[] = [[{ of: /\w/, min: 36, max: 36 }, '_mmk', /(?:)/, isMixed]];

export const officeTokens: readonly Detector[] = [
  tokenDetector('service_token', 400, forms),
  tokenDetector('service_token', 96, shortForms),
  markedDetector('service_token', 8, maxMind),
];
