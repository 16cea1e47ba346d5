// Determines which numbers belong to a brand of payment cards, and which card numbers are published for tests.

interface Brand {
  readonly prefix: RegExp;
  readonly lengths: readonly number[];
  /** Lengths that other numbers have as often as cards do. A word for cards must precede a number of such a length. */
  readonly withWord?: readonly number[];
}

// The ranges are from ISO/IEC 7812 issuer identification and from the brands' own guides for merchants.
const brands: readonly Brand[] = [
  { prefix: /^4/, lengths: [16], withWord: [13, 18, 19] }, // Visa, and Electron
  { prefix: /^5[1-5]/, lengths: [16] }, // Mastercard
  { prefix: /^2(?!\d(?:0[1-9]|1[0-2])(?:[0-2]\d|3[01]))(?:22[1-9]|2[3-9]|[3-6]|7[01]|720)/, lengths: [16] }, // Mastercard, the range of 2017
  { prefix: /^2(?:22[1-9]|2[3-9]|[3-6]|7[01]|720)/, lengths: [], withWord: [16] }, // The same range if it can also be a date in an order number
  { prefix: /^3[47]/, lengths: [15] }, // American Express
  { prefix: /^(?:30[0-5]|3095|36|38|39)/, lengths: [14], withWord: [15, 16, 17, 18, 19] }, // Diners Club
  { prefix: /^35(?:2[89]|[3-8])/, lengths: [16], withWord: [17, 18, 19] }, // JCB
  { prefix: /^(?:6011|64[4-9]|65)/, lengths: [16], withWord: [17, 18, 19] }, // Discover
  { prefix: /^62/, lengths: [16, 17, 18, 19] }, // UnionPay
  { prefix: /^81[0-7]/, lengths: [16], withWord: [17, 18, 19] }, // UnionPay, RuPay
  { prefix: /^(?:508[5-9]|60698|60[7-8]|652[12]|353|356)/, lengths: [16] }, // RuPay
  { prefix: /^(?:5018|5020|5038|5893|6304|6759|676[1-3]|67677[04])/, lengths: [16, 18, 19], withWord: [12, 13, 14, 15, 17] }, // Maestro
  { prefix: /^(?:50|5[6-9]|6)/, lengths: [], withWord: [12, 13, 14, 15, 16, 17, 18, 19] }, // Maestro, the whole possible range
  { prefix: /^(?:506(?:0(?:99|[1-9])|1)|650|507(?:8|9))/, lengths: [16, 18, 19] }, // Verve
  { prefix: /^220[0-4]/, lengths: [16], withWord: [17, 18, 19] }, // Mir
  { prefix: /^(?:9792|65)/, lengths: [16] }, // Troy
  { prefix: /^(?:401178|401179|438935|45763|4576|504175|5067|5090|5091|627780|636297|636368|65)/, lengths: [16] }, // Elo
  { prefix: /^(?:606282|384[1-6])/, lengths: [16], withWord: [13, 19] }, // Hipercard
  { prefix: /^(?:1946|5019|4571)/, lengths: [16] }, // Dankort
];

// Numbers that Stripe, Adyen, Braintree and PayPal publish for tests. They are not used to pay.
const published = new Set(
  (
    '4242424242424242 4000056655665556 5555555555554444 2223003122003222 5200828282828210 5105105105105100 378282246310005 371449635398431 6011111111111117 ' +
    '6011000990139424 6011981111111113 3056930009020004 36227206271667 6555900000604105 3566002020360505 6200000000000005 6200000000000047 6205500000000000004 4111111111111111 ' +
    '4012888888881881 4222222222222 4000000000000002 4000000000000077 4000000000009995 4000000000000341 4000002500003155 4000002760003184 4000008260000000 4000000000003220 ' +
    '30569309025904 38520000023237 3530111333300000 4917610000000000 6304000000000000 5019717010103742 4005519200000004 4009348888881881 4012000033330026 4012000077777777 ' +
    '4217651111111119 4500600000000061 378734493671000 2222400070000005 6759649826438453 6007220000000004 4988438843884305 5577000055770004 370000000000002'
  ).split(' '),
);

/** Returns whether the number is a published test number. */
export const isPublished = (digits: string): boolean => published.has(digits);

/**
 * Returns whether a word for cards must precede a number of this brand and length. Null: the number belongs to no
 * brand.
 */
export function wordNeeded(digits: string): boolean | null {
  let needed: boolean | null = null;
  for (const { prefix, lengths, withWord } of brands) {
    if (lengths.includes(digits.length) && prefix.test(digits)) return false;
    if (withWord?.includes(digits.length) === true && prefix.test(digits)) needed = true;
  }
  return needed;
}
