// Finds keys of payment providers. Publishable keys are public and are not redacted.
import type { Detector } from '../../detector.ts';
import { isMixed } from './drawn.ts';
import { type MarkedForm, markedDetector } from './marked.ts';
import { type Form, tokenDetector } from './token.ts';

const hex32 = '[0-9a-f]{32}';

/** Returns whether a text belongs to a Stripe object that a browser may complete with the part after `_secret_`. */
const isIntent = (whole: string): boolean => /^(?:pi|seti|src|cs|cuss|accts|bbis|ba)_/.test(whole) && isMixed(whole);
const intents: readonly MarkedForm[] = [[{ of: /\w/, min: 15, max: 100 }, '_secret_', /[A-Za-z0-9]{15,90}/, isIntent]];

const forms: readonly Form[] = [
  // Stripe, and Paystack, Clerk, Tap and others that use the same form.
  ...['sk_live_', 'sk_test_', 'rk_live_', 'rk_test_', 'sk_prod_', 'ek_live_', 'ek_test_', 'sk_org_live_', 'sk_org_test_'].map(
    (prefix): Form => [prefix, /[A-Za-z0-9]{16,255}/],
  ),
  ['whsec_', /[A-Za-z0-9+/]{24,88}={0,2}/],
  // Square, Braintree, PayPal.
  ['sq0csp-', /[\w-]{43}/],
  ['sq0atp-', /[\w-]{22}/],
  ['sq0idb-', /[\w-]{22}/],
  ['EAAA', /[\w-]{60}/],
  ['access_token$', new RegExp(String.raw`(?:sandbox|production)\$[0-9a-z]{16}\$${hex32}`)],
  ['A21AA', /[\w-]{60,140}/],
  ['A23AA', /[\w-]{60,140}/],
  // Adyen: the text after the last `=-` may have any printable character.
  ['AQE', /[\w+/=-]{60,240}=-[\w+/=.;:{}()[\]^~!?*%#@$|-]{6,39}[\w}\])$]/],
  // Razorpay, whose secret has no form of its own; Cashfree.
  ['rzp_live_', /[A-Za-z0-9]{14}/, { partner: [/[A-Za-z0-9]{24}/, isMixed] }],
  ['rzp_test_', /[A-Za-z0-9]{14}/, { partner: [/[A-Za-z0-9]{24}/, isMixed] }],
  ['cfsk_ma_', new RegExp(`(?:prod|test)_${hex32}_[0-9a-f]{8}`)],
  // Mollie (30 characters), Chargebee, Lob; GoCardless (40 characters, also with `-` and `_`). Names of tests can look
  // like GoCardless tokens, but `isMixed` excludes such names.
  ['live_', /[A-Za-z0-9]{30,64}/],
  ['test_', /[A-Za-z0-9]{30,64}/],
  ...['live_', 'test_', 'sandbox_'].map((prefix): Form => [prefix, /[\w-]{40}/, { isReal: isMixed }]),
  ['access_', /[A-Za-z0-9]{30,64}/, { isReal: isMixed }],
  // Flutterwave, Xendit, Midtrans, Omise.
  ['FLWSECK_TEST-', /[0-9a-fA-F]{32}-X/],
  ['FLWSECK-', /[0-9a-fA-F]{32}(?:-[0-9a-z]{8,16})?(?:vt)?-X/],
  ['xnd_production_', /[A-Za-z0-9]{40,80}/],
  ['xnd_development_', /[A-Za-z0-9]{40,80}/],
  ['Mid-server-', /[\w-]{20,28}/],
  ['SB-Mid-server-', /[\w-]{20,28}/],
  ['skey_', /(?:test_|live_)?[a-z0-9]{19}/],
  // Asaas, MercadoPago, Conekta.
  ['$aact_', /(?:prod_|hmlg_)?[A-Za-z0-9+/=:]{60,250}/],
  ['APP_USR-', new RegExp(`\\d{13,19}-\\d{6}-${hex32}-\\d{5,12}`)],
  ['TEST-', new RegExp(`\\d{13,19}-\\d{6}-${hex32}-\\d{5,12}`)],
  ['key_', /[A-Za-z0-9]{21,22}/, { isReal: isMixed }],
  // SumUp, Klarna, Polar, Paddle, Checkout.com, Revolut, Creem, Plaid.
  ['sup_sk_', /[A-Za-z0-9]{32}/],
  ...['live', 'test', 'playground'].map((stage): Form => [`klarna_${stage}_api_`, /[A-Za-z0-9+/=_-]{40,200}/]),
  ...['oat', 'pat', 'at', 'rt', 'cs', 'ac'].map((name): Form => [`polar_${name}_`, /[\w-]{32,64}/]),
  ['pdl_', /(?:live|sdbx)_apikey_[a-z0-9]{26}_[A-Za-z0-9]{22}_[A-Za-z0-9]{3}|ntfset_[a-z0-9]{26}_[\w+/-]{32,36}/],
  ['sk_', /(?:sbox_)?[a-z0-9]{26,27}[a-z0-9*#$]/],
  ['oa_prod_', /[\w-]{43}/],
  ['oa_sand_', /[\w-]{43}/],
  ['creem_', /[A-Za-z0-9]{20,40}/],
  ...['sandbox', 'development', 'production'].map(
    (stage): Form => [`access-${stage}-`, /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/],
  ),
];

export const paymentKeys: readonly Detector[] = [tokenDetector('payment_key', 400, forms), markedDetector('payment_key', 112, intents)];
