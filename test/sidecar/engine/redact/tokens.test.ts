// Secrets by their form: each kind of token is redacted, whole and nothing else, in any context. Look-alikes stay. The
// values were generated for this file. A broken bar keeps scanners from reporting them as real.
import { expect, test, vi } from 'vitest';
import { tokens } from '../../../../sidecar/engine/redact/detectors/tokens/index.ts';
import { createFinder, nothingKnown, replaceFound } from '../../../../sidecar/engine/redact/finder.ts';
import { createWork } from '../../../../sidecar/engine/redact/work.ts';

const finder = createFinder(tokens);
const redact = (text: string): string => {
  const plain = text.replaceAll('¦', '');
  return replaceFound(plain, 0, finder.find(plain, 0, nothingKnown, createWork()), (kind) => `<${kind}>`);
};

const drawn = 'k3Jq9ZxW2mVb7Tn5RcLd8Hf4Gs6Pa0YuEo1IiQ7wXzB2vN9tM4rK8yU5pA3sD6fG1hJ0lC';
const hex = '3f9a1c7e5b0d8642e7c1a95d3b80f6247a1e9c5d0b3f8642d7e5a1c93b0f8d64';
const capitals = 'Q7MZ2KXW4RTB6YHN3PVC5DJF';

test.each([
  ['cloud_key', 'AK¦IAQLIUEGMUDSPB2R4M'],
  ['cloud_key', `AI¦za${drawn.slice(0, 35)}`],
  ['cloud_key', `GO¦CSPX-${drawn.slice(0, 28)}`],
  ['cloud_key', `ya¦29.a0${drawn}`],
  ['cloud_key', `do¦p_v1_${hex}`],
  ['cloud_key', `LT¦AI5t${drawn.slice(0, 18)}`],
  ['cloud_key', `SC¦W${capitals.slice(0, 17)}`],
  ['cloud_key', `v1¦.0-${hex.slice(0, 24)}-${hex}${hex}${hex.slice(0, 18)}`],
  ['cloud_key', `q3d8Q~¦${drawn.slice(0, 34)}`],
  ['cloud_key', `${(drawn + drawn).slice(0, 76)}+A¦StyEDuqW==`],
  ['code_hosting_token', `gh¦p_${drawn.slice(0, 36)}`],
  ['code_hosting_token', `github¦_pat_${drawn.slice(0, 22)}_${drawn.slice(0, 59)}`],
  ['code_hosting_token', `gl¦pat-${drawn.slice(0, 20)}`],
  ['code_hosting_token', `gl¦pat-${drawn.slice(0, 27)}.01.1a2b3c4d5`],
  ['code_hosting_token', `AT¦BB${drawn.slice(0, 32)}`],
  ['payment_key', `sk¦_live_${drawn.slice(0, 24)}`],
  ['payment_key', `wh¦sec_${drawn.slice(0, 32)}`],
  ['payment_key', `pi_${drawn.slice(0, 24)}_sec¦ret_${drawn.slice(0, 25)}`],
  ['payment_key', `xnd¦_production_${drawn.slice(0, 50)}`],
  ['payment_key', `access¦_token$sandbox$sr2i0ny83rzy3nl7$${hex.slice(0, 32)}`],
  ['messaging_token', `xo¦xb-977901362646-4584967349389-${drawn.slice(0, 24)}`],
  ['messaging_token', `7827629115:A¦A${drawn.slice(0, 33)}`],
  ['messaging_token', `OTQxNjU1NjkyNzgzODU5MTYw.GD¦4Q20.${drawn.slice(0, 38)}`],
  ['messaging_token', `SG¦.${drawn.slice(0, 22)}.${drawn.slice(0, 43)}`],
  ['messaging_token', `${hex.slice(0, 32)}-u¦s14`],
  ['model_key', `sk¦-ant-api03-${drawn}${drawn.slice(0, 20)}AA`],
  ['model_key', `sk¦-proj-${drawn}`],
  ['model_key', `sk¦-${hex.slice(0, 32)}`],
  ['model_key', `gs¦k_${drawn.slice(0, 52)}`],
  ['model_key', `hf¦_${drawn.slice(0, 34)}`],
  ['registry_token', `np¦m_${drawn.slice(0, 36)}`],
  ['registry_token', `py¦pi-AgEIcHlwaS5vcmc${drawn}`],
  ['registry_token', `dckr¦_pat_${drawn.slice(0, 27)}`],
  ['service_token', `nt¦n_${drawn.slice(0, 46)}`],
  ['service_token', `hv¦s.${drawn.slice(0, 24)}`],
  ['service_token', `sh¦pat_${hex.slice(0, 32)}`],
  ['service_token', `gl¦sa_${drawn.slice(0, 32)}_3f9a1c7e`],
  ['service_token', `2/¦7988801055908448/8433664282073721:${hex.slice(0, 32)}`],
  ['service_token', `q7dK2mX9bVn4Tz.at¦lasv1.${drawn.slice(0, 67)}`],
  ['tollgate_key', `gs¦k_night-shift_${drawn.slice(0, 40)}`],
])('%s: %s is redacted, alone, quoted and at the end of a sentence', (kind, token) => {
  expect(redact(token)).toBe(`<${kind}>`);
  expect(redact(`say "${token}", please`)).toBe(`say "<${kind}>", please`);
  expect(redact(`it is ${token}.`)).toBe(`it is <${kind}>.`);
});

const token = `gh¦p_${drawn.slice(0, 36)}`;
test.each([
  ['令牌«是', '。'],
  ['토큰은', '입니다'],
  ['<b>', '</b>'],
  ['&quot;', '&quot;'],
  ['\\n', '\\n'],
  ['\\u0022', '\\u0022'],
  ['a%3D', '%26b%3D1'],
  ['a%253D', '%2526b'],
  ['a=3D', '=20b'],
  ['\u001b[31m', '\u001b[0m'],
  ['https://x-access-token:', '@host/repo.git'],
  ['{"a":["', '"]}'],
  ['| npm | ', ' | ✅ |'],
  ['_', '_'],
])('a token is found between %j and %j, and they stay', (before, after) => {
  expect(redact(`${before}${token}${after}`)).toBe(`${before}<code_hosting_token>${after}`);
});

test.each([
  [
    `https://hooks.slack.com/services/T03QX81KD/B08K2XQ0V/¦${drawn.slice(0, 24)}`,
    'https://hooks.slack.com/services/T03QX81KD/B08K2XQ0V/<messaging_token>',
  ],
  [
    `discord.com\\/api\\/webhooks\\/1182740031928172544\\/¦${drawn.slice(0, 68)}`,
    'discord.com\\/api\\/webhooks\\/1182740031928172544\\/<messaging_token>',
  ],
  [`POST /bot7827629115:A¦A${drawn.slice(0, 33)}/getUpdates`, 'POST /bot<messaging_token>/getUpdates'],
  [`open.feishu.cn/open-apis/bot/v2/hook/f727c593-1d69-4ffa-affe-697837224937¦`, 'open.feishu.cn/open-apis/bot/v2/hook/<messaging_token>'],
])('of the address %j only the secret part is redacted', (text, redacted) => {
  expect(redact(text)).toBe(redacted);
});

test.each([
  [`AK¦IAQLIUEGMUDSPB2R4M:${drawn.slice(0, 40)}`, '<cloud_key>:<cloud_key>'],
  [`access=AK¦IAQLIUEGMUDSPB2R4M%26secret%3D${drawn.slice(0, 37)}%2FaB&x`, 'access=<cloud_key>%26secret%3D<cloud_key>&x'],
  [`Client("SK¦${hex.slice(0, 32)}", # key\n "${drawn.slice(0, 32)}")`, 'Client("<messaging_token>", # key\n "<messaging_token>")'],
  [`AC${hex.slice(0, 32)}:¦${hex.slice(16, 48)}`, `AC${hex.slice(0, 32)}:<messaging_token>`],
  [`rz¦p_live_${drawn.slice(0, 14)},${drawn.slice(14, 38)},live`, '<payment_key>,<payment_key>,live'],
])('a secret is redacted with the id next to it: %j', (text, redacted) => {
  expect(redact(text)).toBe(redacted);
});

test.each([
  [`aws_secret_access_key = ${drawn.slice(0, 38)}+/`, 'aws_secret_access_key = <cloud_key>'],
  [`\\"SecretAccessKey\\": \\"${drawn.slice(0, 40)}\\"`, '\\"SecretAccessKey\\": \\"<cloud_key>\\"'],
  [`DD_API_KEY=${hex.slice(0, 32)}`, 'DD_API_KEY=<service_token>'],
  [`new ZhipuAI("${hex.slice(0, 32)}.${drawn.slice(0, 16)}")`, 'new ZhipuAI("<model_key>")'],
  [`WANDB_API_KEY=${hex.slice(0, 40)}`, 'WANDB_API_KEY=<model_key>'],
  ['SNYK_TOKEN\\u003d16f80ed9-d031-4dab-9a67-15c940bad3c1 x', 'SNYK_TOKEN\\u003d<service_token> x'],
])('a secret without a form is redacted next to its issuer: %j', (text, redacted) => {
  expect(redact(text)).toBe(redacted);
});

test.each([
  `AK¦IAIOSFODNN7EXAMPLE`,
  `gh¦p_${'x'.repeat(36)}`,
  `gh¦p_abcdefghijklmnopqrstuvwxyz0123456789`,
  'xo¦xb-your-token',
  'sk¦-...',
  'sk¦_live_keyFromEnvironmentVariables',
  `https://hooks.slack.com/services/T0¦0000000/B00000000/${'X'.repeat(24)}`,
  'sk-circle-fade-dot-animation-delay-2s',
  'test_returns_404_when_user_not_found_in_db1',
  'task-3f9a1c7e5b0d8642e7c1a95d3b80f624',
  `pk¦_live_${drawn.slice(0, 24)}`,
  `wandb: run at commit ${hex.slice(0, 40)}`,
  `datadog agent 7.2 sha ${hex.slice(0, 40)}`,
  'snyk project 16f80ed9-d031-4dab-9a67-15c940bad3c1',
  `x${drawn.slice(0, 3)}ghp_${drawn.slice(0, 36)}`,
  'gsk_night-shift',
])('%j is not redacted', (text) => {
  expect(redact(text)).toBe(text.replaceAll('¦', ''));
});

test.each(['sk-', 'glpat-', 'ABSK/', 'AQE=', '8Q~', '.g', '+ASt', 'bybit', 'sk-a1b2'])(
  'of repeated %j only the first few are checked closely',
  (piece) => {
    const looked = vi.spyOn(RegExp.prototype, 'exec');
    redact(piece.repeat(4_000));
    const times = looked.mock.calls.length;
    looked.mockRestore();
    expect(times).toBeLessThan(400);
  },
);
