// Finds tokens of services for developers and operators: monitoring, deployment, secrets, databases, feature flags.
import type { Detector } from '../../detector.ts';
import { hasDigit } from './drawn.ts';
import { type MarkedForm, markedDetector } from './marked.ts';
import { type Form, tokenDetector } from './token.ts';

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/;
const hex32 = /[0-9a-f]{32}/;
const hex40 = /[0-9a-f]{40}/;
const hex64 = /[0-9a-f]{64}/;
const letters36 = /[A-Za-z0-9]{36}/;

const all = (prefixes: readonly string[], rest: RegExp): readonly Form[] => prefixes.map((prefix): Form => [prefix, rest]);

const forms: readonly Form[] = [
  // Monitoring: Sentry, Grafana (the older form is JSON in base64), New Relic, Dynatrace, Honeycomb, Axiom, Logfire,
  // PostHog, Rootly.
  ...all(['sntryu_', 'sntrya_', 'sntryi_', 'sntryd_'], hex64),
  ['glsa_', /[A-Za-z0-9]{32}_[0-9a-fA-F]{8}/],
  ['glc_', /[A-Za-z0-9+/]{32,380}={0,2}/],
  ['eyJrIjoi', /[A-Za-z0-9+/_-]{50,380}={0,2}/],
  ...all(['NRAK-', 'NRJS-', 'NRII-', 'NRIQ-', 'NRRA-', 'NRAA-', 'NRAL-'], /[A-Za-z0-9_-]{19,44}/),
  ...all(['dt0c01.', 'dt0s01.', 'dt0s02.', 'dt0s03.', 'dt0s04.', 'dt0s06.', 'dt0s08.', 'dt0s16.'], /[A-Z0-9]{8,24}\.[A-Z0-9]{64}/),
  ...all(['hcaik_', 'hcxik_', 'hcbik_', 'hclik_', 'hcmik_', 'hcaak_', 'hcxmk_', 'hcamk_', 'hcalk_', 'hcxlk_', 'hcalc_'], /[a-z0-9]{50,64}/),
  ...all(['xaat-', 'xapt-', 'xait-'], uuid),
  ['pylf_v1_', /[a-z]{2}_[A-Za-z0-9]{40,60}/],
  ...all(['phx_', 'phs_', 'phr_', 'pha_'], /[A-Za-z0-9]{40,60}/),
  ['rootly_', hex64],
  ['cu_', hex32],
  ['pdus+_', /[A-Za-z0-9+_-]{18,40}/],
  ...all(['hbp_', 'hbk_'], letters36),
  // Secrets and networks: Vault, Doppler, LaunchDarkly, 1Password, Tailscale.
  ['hvs.', /[\w-]{24,160}/],
  ['hvr.', /[\w-]{24,380}/],
  ['dp.', /(?:ct|pt|st|sa|said|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}/],
  ...all(['sdk-', 'api-', 'mob-', 'rel-'], uuid),
  ...all(
    ['tskey-auth-', 'tskey-api-', 'tskey-client-', 'tskey-webhook-', 'tskey-scim-', 'tskey-'],
    /[A-Za-z0-9]{6,20}(?:CNTRL)?-[A-Za-z0-9]{16,48}/,
  ),
  // Hosting and databases: Databricks, Netlify, Vercel, Deno, Scalingo, Supabase, PlanetScale, Neon, MongoDB,
  // CockroachDB, ClickHouse.
  ...all(['dapi', 'dkea', 'dose', 'dsapi'], /[0-9a-f]{32}(?:-\d{1,2})?/),
  ...all(['nfp_', 'nfc_', 'nfo_', 'nfu_', 'nfb_'], letters36),
  ['vercel_blob_rw_', /[A-Za-z0-9]{16}_[A-Za-z0-9]{30,36}/],
  ...all(['vcp_', 'vca_', 'vck_', 'vcr_', 'vci_'], /[A-Za-z0-9]{24,64}/),
  ...all(['ddp_', 'ddo_', 'ddw_'], letters36),
  ['tk-us-', /[\w-]{40,60}/],
  ...all(['sbp_', 'sbp_v0_', 'sba_'], hex40),
  ['sb_secret_', /[\w-]{30,44}/],
  ...all(['pscale_tkn_', 'pscale_pw_', 'pscale_oauth_'], /[\w.=-]{31,63}[\w=]/),
  ['napi_', /[a-z0-9]{60,68}/],
  ['mdb_sa_sk_', /[\w-]{36,48}/],
  ['CCDB1_', /[A-Za-z0-9]{22}_[A-Za-z0-9]{40}/],
  ['4b1d', /[A-Za-z0-9]{38}/],
  ['fo1_', /[\w-]{43}/],
  ['koyeb_', /[a-z0-9]{40,70}/],
  // Building and testing: Buildkite, Prefect, Sonar, Snyk, Infracost, Trigger, Inngest, Harness, Postman, dbt.
  ...all(['bkua_', 'bkaj_', 'bkat_'], hex40),
  ...all(['pnu_', 'pnb_'], letters36),
  ...all(['squ_', 'sqp_', 'sqa_', 'sqb_'], hex40),
  ...all(['snyk_uat.', 'snyk_sat.'], /[0-9a-f]{8}(?:\.[\w-]{20,180}){1,3}/),
  ['ico-', /[A-Za-z0-9]{32}/],
  ...all(['tr_prod_', 'tr_dev_', 'tr_stg_', 'tr_preview_', 'tr_pat_'], /[A-Za-z0-9]{18,40}/),
  ...all(['signkey-prod-', 'signkey-test-', 'signkey-branch-', 'signkey-staging-'], /[0-9a-f]{32,64}/),
  ...all(['pat.', 'sat.'], /[\w-]{22}\.[0-9a-f]{24}\.[A-Za-z0-9]{20}/),
  ['PMAK-', /[0-9a-f]{24}-[0-9a-f]{34}/],
  ['PMAT-', /[A-Z0-9]{26}/, { isReal: hasDigit }],
  ...all(['dbtc_', 'dbtu_', 'dbts_'], /[\w-]{36,60}={0,2}/),
  ['API-', /[A-Z0-9]{25,36}/, { isReal: hasDigit }],
  ['zpka_', /[0-9a-f]{32}_[0-9a-f]{8}/],
  ['rdme_', /[a-z0-9]{70}/],
  ['waka_', new RegExp(`(?:sec_|tok_)?(?:${uuid.source}|[A-Za-z0-9]{80})`)],
  ['sktsec_', /\w{36,60}_api/],
];

const longForms: readonly Form[] = [
  ['sntrys_eyJ', /[A-Za-z0-9+/_-]{80,500}={0,2}(?:_[A-Za-z0-9+/]{40,48})?={0,2}/],
  ['hvb.', /[\w-]{100,1000}/],
  ['fm2_', /[A-Za-z0-9+/]{60,1500}={0,2}(?:,fm2_[A-Za-z0-9+/]{60,400}={0,2}){0,3}/],
  ['fm1r_', /[A-Za-z0-9+/]{60,1500}={0,2}/],
  ['fm1a_', /[A-Za-z0-9+/]{60,1500}={0,2}/],
  ['ops_eyJ', /[A-Za-z0-9_-]{100,1500}={0,2}/],
];

// Vault before 1.10, Infisical. Many sentences end with the first letters of these forms. Therefore these forms are in
// a separate detector with its own maximum length, so that a stream holds back less text after such a sentence.
const shortForms: readonly Form[] = [
  // The text must contain a digit, because a property name in code, as in `s.name`, has none.
  ['s.', /[A-Za-z0-9]{24}/, { isReal: hasDigit }],
  ['st.', new RegExp(`(?:${uuid.source}|[0-9a-f]{24})\\.[0-9a-f]{32}\\.[0-9a-f]{32}`)],
];

// Terraform's tokens have their mark in the middle. New Relic's licence keys have it at the end.
const markedForms: readonly MarkedForm[] = [
  [{ of: /[A-Za-z0-9]/, min: 14, max: 14 }, '.atlasv1.', /[\w-]{60,70}/],
  [{ of: /[0-9a-z]/, min: 36, max: 36 }, 'NRAL', /(?:)/],
];

export const serviceTokens: readonly Detector[] = [
  tokenDetector('service_token', 400, forms),
  tokenDetector('service_token', 2048, longForms),
  tokenDetector('service_token', 112, shortForms),
  markedDetector('service_token', 80, markedForms),
];
