// Lists issuers whose secrets look like any other generated value. For each issuer, it gives the characters of the
// secrets.
import { awsSecret } from './cloud-keys.ts';
import { isDrawn, isMixed } from './drawn.ts';

export interface Issuer {
  readonly names: readonly string[];
  readonly value: RegExp;
  readonly isReal?: (value: string) => boolean;
  /** True: the name itself says that a key follows, so no other word is needed. */
  readonly namesKey?: true;
}

const hex32 = /[0-9a-f]{32}/;
const hex40 = /[0-9a-f]{40}/;
const hex64 = /[0-9a-f]{64}/;
const letters32 = /[A-Za-z0-9]{32}/;
const letters40 = /[A-Za-z0-9]{40}/;
const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/;

export const cloudIssuers: readonly Issuer[] = [
  {
    names: [
      'secret_access_key',
      'secret-access-key',
      'secretaccesskey',
      'secret access key',
      'aws_secret',
      'aws secret',
      'awssecret',
      'aws_sec',
    ],
    value: awsSecret,
    isReal: isMixed,
    namesKey: true,
  },
  { names: ['cloudflare', 'cf_api'], value: /[\w-]{40}|[0-9a-f]{37}/ },
  { names: ['linode'], value: hex64 },
  { names: ['hcloud', 'hetzner'], value: /[A-Za-z0-9]{64}/ },
  { names: ['vultr'], value: /[A-Z0-9]{36}/ },
  { names: ['fastly'], value: /[\w-]{32}/ },
  { names: ['heroku'], value: uuid },
  { names: ['ibmcloud', 'ibm_cloud', 'ibm cloud', 'bluemix'], value: /[\w-]{44}/ },
  { names: ['alicloud', 'aliyun', 'alibaba'], value: /[A-Za-z0-9]{30}/, isReal: isMixed },
  { names: ['tencentcloud', 'tencent'], value: letters32, isReal: isMixed },
];

export const modelIssuers: readonly Issuer[] = [
  { names: ['deepgram', 'serper', 'wandb', 'w&b'], value: hex40 },
  { names: ['assemblyai', 'clarifai', 'stability'], value: hex32 },
  { names: ['zhipu', '智谱', 'bigmodel', 'glm_', 'zai_'], value: /[0-9a-f]{32}\.[A-Za-z0-9]{16}/ },
  { names: ['mistral', 'ai21'], value: letters32, isReal: isMixed },
  { names: ['cohere'], value: letters40, isReal: isMixed },
  { names: ['modelscope'], value: new RegExp(`ms-${uuid.source}`) },
  { names: ['exa_api', 'exa-api', 'sambanova', 'vapi'], value: uuid },
  { names: ['fal_key', 'fal_ai', 'fal.ai'], value: new RegExp(`${uuid.source}:[0-9a-f]{32}`), namesKey: true },
  { names: ['azure_openai', 'azure-openai', 'azureopenai', 'openai.azure'], value: hex32 },
];

export const messagingIssuers: readonly Issuer[] = [
  { names: ['twilio', 'slack_signing', 'slack signing', 'vonage', 'nexmo', 'messenger'], value: hex32 },
  { names: ['mailgun'], value: /[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}/, namesKey: true },
  { names: ['postmark', 'sinch'], value: uuid },
  { names: ['sparkpost'], value: hex40 },
  { names: ['mailjet', 'line_channel_secret', 'channel_secret'], value: hex32 },
  { names: ['pushover'], value: /[augk][a-z0-9]{29}/ },
  { names: ['zulip'], value: letters32, isReal: isMixed },
  { names: ['messagebird'], value: /[A-Za-z0-9]{25}/, isReal: isMixed },
];

export const serviceIssuers: readonly Issuer[] = [
  { names: ['dd-api', 'dd_api', 'dd-application', 'dd_app', 'datadog'], value: /[0-9a-f]{40}|[0-9a-f]{32}/ },
  { names: ['snyk', 'codecov', 'railway', 'opsgenie'], value: uuid },
  { names: ['okta'], value: /00[\w-]{40}/, isReal: isMixed },
  {
    names: [
      'algolia',
      'rollbar',
      'bugsnag',
      'honeybadger',
      'amplitude',
      'mixpanel',
      'dropbox',
      'calendarific',
      'openweather',
      'infura',
      'confluent',
    ],
    value: hex32,
  },
  { names: ['gitea', 'forgejo', 'codeberg', 'circleci', 'readthedocs', 'cloudsmith', 'pendo'], value: hex40 },
  { names: ['auth0'], value: /[\w-]{64}/, isReal: isMixed },
  { names: ['zendesk', 'npmjs', 'pagerduty_'], value: letters40, isReal: isMixed },
  { names: ['pagerduty'], value: /[\w+-]{20}/, isReal: isMixed },
  { names: ['newrelic', 'new_relic'], value: /[0-9a-f]{36}NRAL|[0-9a-f]{40}/ },
  {
    names: ['webflow', 'virustotal', 'unsplash', 'vercel'],
    value: /[0-9a-f]{64}|[\w-]{43}|[A-Za-z0-9]{24}/,
    isReal: (value) => isDrawn(value) && /\d/.test(value),
  },
  { names: ['ngrok'], value: /[A-Za-z0-9]{26,30}_[A-Za-z0-9]{20,22}/, isReal: isMixed },
  { names: ['travis'], value: /[\w-]{22}/, isReal: isMixed },
  { names: ['etherscan'], value: /[A-Z0-9]{34}/ },
];

export const paymentIssuers: readonly Issuer[] = [
  { names: ['paypal'], value: /E[\w-]{79}/, isReal: isMixed },
  { names: ['razorpay'], value: /[A-Za-z0-9]{24}/, isReal: isMixed },
  { names: ['plaid'], value: /[0-9a-f]{30}/ },
  { names: ['braintree', 'recurly'], value: hex32 },
  { names: ['binance', 'bybit'], value: /[A-Za-z0-9]{64}/, isReal: isMixed },
];
