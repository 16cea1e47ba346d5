// Finds tokens of chats, bots and mail: tokens that post and send in a user's name, and secret URLs to which every
// client that knows them may post.
import type { Detector } from '../../detector.ts';
import { isMixed } from './drawn.ts';
import { type MarkedForm, markedDetector } from './marked.ts';
import { type Form, tokenDetector } from './token.ts';

// A slash: plain, escaped in JSON, or encoded in a URL inside another URL.
const slash = String.raw`(?:\/|\\\/|%2[Ff])`;
const uuid = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';
const hexDigits = '0123456789abcdef'.split('');

const forms: readonly Form[] = [
  // Slack: tokens of bots, users, sessions, refreshes and apps. The cookie of a session is percent-encoded.
  ...['xoxb-', 'xoxp-', 'xoxa-', 'xoxr-', 'xoxs-', 'xoxc-', 'xoxo-'].map(
    (prefix): Form => [prefix, /(?:\d{1,2}-)?[A-Za-z0-9]{8,64}-[A-Za-z0-9-]{8,200}/],
  ),
  ['xoxd-', /(?:[A-Za-z0-9+/=_-]|%[0-9A-Fa-f]{2}){40,300}/],
  ['xoxe-', /\d-[A-Za-z0-9-]{40,300}/],
  ['xoxe.', /xox[bp]-\d-[A-Za-z0-9-]{40,300}/],
  ['xapp-', /\d-[A-Z0-9]{6,16}-\d{6,20}-[0-9a-f]{40,80}/],
  [
    'hooks.slack.com',
    new RegExp(
      `${slash}(?:services|workflows|triggers)${slash}[TE]\\w{6,16}${slash}\\w{6,20}${slash}(?:\\d{10,24}${slash})?([A-Za-z0-9]{18,48})`,
    ),
  ],
  ['hooks.slack-gov.com', new RegExp(`${slash}services${slash}T\\w{6,16}${slash}B\\w{6,16}${slash}([A-Za-z0-9]{18,48})`)],
  // Discord, Teams.
  ...['discord.com', 'discordapp.com'].map(
    (host): Form => [host, new RegExp(`${slash}api(?:${slash}v\\d{1,2})?${slash}webhooks${slash}\\d{15,21}${slash}([\\w-]{60,80})`)],
  ),
  ['mfa.', /[\w-]{80,100}/],
  ['IncomingWebhook', new RegExp(`${slash}([0-9a-f]{32}(?:${slash}${uuid}${slash}V2[\\w-]{20,60})?)`)],
  // Feishu and Lark, DingTalk, WeCom.
  ['open-apis', new RegExp(`${slash}bot${slash}(?:v2${slash})?hook${slash}(${uuid}|[0-9a-f]{32})`)],
  ['robot/send?access_token=', /([0-9a-f]{64})/],
  ['webhook/send?key=', new RegExp(`(${uuid})`)],
  // Mattermost, Rocket.Chat, Zapier, Make.
  ['hooks/', /([a-z0-9]{26}|[0-9a-f]{24}\/[A-Za-z0-9]{40,64})/],
  ['hooks.zapier.com/hooks/catch/', /\d{4,10}\/([a-z0-9]{6,10})/],
  ...['eu1', 'eu2', 'us1', 'us2'].map((region): Form => [`hook.${region}.make.com/`, /([a-z0-9]{32})/]),
  // VK, Matrix, Meta.
  ['vk1.a.', /[\w-]{80,300}/],
  ['syt_', /[A-Za-z0-9+/=]{2,80}_[A-Za-z]{0,24}[A-Za-z0-9]{4,24}_[A-Za-z0-9]{6}/],
  ['syr_', /[A-Za-z0-9+/=_]{20,120}/],
  ['mat_', /[A-Za-z0-9]{24,40}_[A-Za-z0-9]{6}/],
  ['MDAx', /[\w-]{80,280}/],
  ['EAA', /[A-Za-z0-9]{80,300}/],
  // Mail: SendGrid, Mailgun, Mandrill, Brevo, MailerSend, Resend, OneSignal.
  ['SG.', /[\w-]{16,32}\.[\w-]{16,64}/],
  ['key-', /[0-9a-f]{32}/],
  ['md-', /[\w-]{22}/, { isReal: isMixed }],
  ['xkeysib-', /[0-9a-f]{64}-[A-Za-z0-9]{16}/],
  ['xsmtpsib-', /[0-9a-f]{64}-[A-Za-z0-9]{16}/],
  ['mlsn.', /[0-9a-f]{64}/],
  ['re_', /[A-Za-z0-9]{8}_[A-Za-z0-9]{24}/],
  ['os_v2_', /(?:app|org)_[a-z2-7]{80,110}/],
  ['KEY0', /[0-9A-F]{31,40}_[A-Za-z0-9]{20,26}/],
];

// Many frequent words begin like these forms. Therefore these forms are in a separate detector with a shorter maximum
// length, so that a stream holds back less text after such a word.
const shortForms: readonly Form[] = [
  // Telegram, in URLs; DingTalk.
  ['bot', /(\d{8,10}(?::|%3A)AA[\w-]{32,34})/],
  ...hexDigits.map((first): Form => [`SEC${first}`, /[0-9a-f]{63}/]),
  // Twilio: API keys with their secret. For an account id, only the token next to it is replaced.
  ...hexDigits.map((first): Form => [`SK${first}`, /[0-9a-f]{31}/, { partner: [/[A-Za-z0-9]{32}/, isMixed] }]),
  ...hexDigits.map(
    (first): Form => [`AC${first}`, /[0-9a-f]{31}\W{1,8}(?:(?:TWILIO_AUTH_TOKEN|auth_?[tT]oken|token)\W{1,6})?([0-9a-f]{32})/],
  ),
];

// This form is a separate detector, because it is longer than the forms above. Thus a stream holds back more text only
// after this prefix.
const twitterForms: readonly Form[] = [['AAAAAAAAAAAAAAAAAAAAA', /[A-Za-z0-9]{4,40}(?:%[0-9A-F]{2}[A-Za-z0-9]{4,90}){1,6}/]];

const isUserNumber = (token: string): boolean => /^[MNO][DTjz][A-Za-z0-9]{21,26}\./.test(token) && isMixed(token);

const markedForms: readonly MarkedForm[] = [
  // Telegram: the number of a bot, then `AA…`. Discord: the number of a user in base64, the time, the signature.
  [{ of: /\d/, min: 8, max: 10 }, ':AA', /[\w-]{32,34}/, isMixed],
  [{ of: /\d/, min: 8, max: 10 }, '%3AAA', /[\w-]{32,34}/, isMixed],
  ...'CDEFGHIXYZ'
    .split('')
    .map((time): MarkedForm => [{ of: /[A-Za-z0-9]/, min: 23, max: 28 }, `.${time}`, /[\w-]{5}\.[\w-]{27,40}/, isUserNumber]),
  // Mailchimp's keys end with the location of their data. All long-lived tokens of LINE have the same end.
  [{ of: /[0-9a-f]/, min: 32, max: 32 }, '-us', /\d{1,2}/],
  [{ of: /[A-Za-z0-9+/]/, min: 120, max: 180 }, '/1O/w1cDnyilFU=', /(?:)/],
];

export const messagingTokens: readonly Detector[] = [
  tokenDetector('messaging_token', 400, forms),
  tokenDetector('messaging_token', 160, shortForms),
  tokenDetector('messaging_token', 700, twitterForms),
  markedDetector('messaging_token', 64, markedForms),
];
