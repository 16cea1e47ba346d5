// Finds wallet addresses, most of them by their checksums. Public keys, digests and transaction ids are not found.
import { endsWord, isDigit, isWordCode, startsWord, wordStart } from '../../boundary.ts';
import type { Detector } from '../../detector.ts';
import { isPlaceholder } from '../placeholders.ts';
import { isBech32 } from './bech32.ts';
import { isBase64Crc16, walletForms } from './wallet-forms.ts';

const tokenLengthMin = 25;
const tokenLengthMax = 112;

/**
 * Finds addresses without a distinctive beginning. Nearly all contain a digit, so the detector is called at the first
 * digit of each token.
 */
export const cryptoToken: Detector = {
  kind: 'crypto_address',
  anchors: 'digits',
  reach: { before: 180, after: 180 },
  find: (text, at, end, found) => {
    const start = tokenStart(text, at);
    if (start === null) return;
    let stop = end;
    while (stop - start <= tokenLengthMax && isWordCode(text.charCodeAt(stop))) stop += 1;
    const length = stop - start;
    if (length < tokenLengthMin || length > tokenLengthMax || text[stop] === '=') return;
    const token = text.slice(start, stop);
    const near = (): string => `${text.slice(Math.max(0, start - 64), start)} ${text.slice(stop, stop + 64)}`;
    if (
      walletForms.some(({ lengths: [min, max], form, holds }) => length >= min && length <= max && form.test(token) && holds(token, near))
    )
      found(start, stop);
  },
};

/**
 * Returns the start of the token whose first digit is at `at`. An escape directly before the token is not part of it.
 * Null: `at` is not the first digit of the token.
 */
function tokenStart(text: string, at: number): number | null {
  const floor = Math.max(0, at - tokenLengthMax);
  let start = at;
  while (start > floor && isWordCode(text.charCodeAt(start - 1))) {
    if (isDigit(text.charCodeAt(start - 1))) return null;
    start -= 1;
  }
  return wordStart(text, start, start + tokenLengthMax);
}

// Every chain of Cosmos has its own prefix. These are the frequent ones.
const bech32Prefixes = (
  'bc tb bcrt ltc tltc addr addr_test stake stake_test cosmos cosmosvaloper osmo juno terra inj sei celestia akash kava secret thor stars axelar evmos noble neutron ' +
  'dydx stride persistence band bnb one zil erd avax fetch agoric umee kujira regen zs u nsec'
).split(' ');

interface PrefixedAddress {
  readonly anchor: string;
  readonly form: RegExp;
  readonly holds: (address: string) => boolean;
}

const anything = (): boolean => true;

const prefixed: readonly PrefixedAddress[] = [
  ...bech32Prefixes.map((prefix) => ({ anchor: `${prefix}1`, form: /[a-z_]{1,16}1[02-9ac-hj-np-z]{38,200}/iy, holds: isBech32 })),
  // The letter case of an address may contain a checksum (EIP-55). It is often missing, so it is not checked. Forty hex
  // digits after `0x` have no other meaning.
  { anchor: '0x', form: /0x[0-9a-f]{40}/iy, holds: (address) => !isPlaceholder(address.slice(2)) },
  { anchor: 'xdc', form: /xdc[0-9a-f]{40}/iy, holds: anything },
  { anchor: 'bitcoincash:', form: /bitcoincash:[qp][02-9ac-hj-np-z]{41}/iy, holds: anything },
  { anchor: 'kaspa:', form: /kaspa:[qp][02-9ac-hj-np-z]{60,62}/iy, holds: anything },
  { anchor: 'nano_', form: /nano_[13][13-9a-km-uw-z]{59}/y, holds: anything },
  ...['EQ', 'UQ', 'kQ', '0Q'].map((anchor) => ({ anchor, form: /(?:[EUk]Q|0Q)[\w-]{46}/y, holds: isBase64Crc16 })),
];
const byAnchor: ReadonlyMap<string, PrefixedAddress> = new Map(prefixed.map((one) => [one.anchor.toLowerCase(), one]));

export const cryptoPrefixed: Detector = {
  kind: 'crypto_address',
  anchors: [...byAnchor.keys()],
  reach: { before: 8, after: 224 },
  find: (text, at, end, found) => {
    if (!startsWord(text, at)) return;
    const one = byAnchor.get(text.slice(at, end).toLowerCase());
    if (one === undefined) return;
    one.form.lastIndex = at;
    if (!one.form.test(text)) return;
    const stop = one.form.lastIndex;
    if (endsWord(text, stop) && one.holds(text.slice(at, stop))) found(at, stop);
  },
};
