// Lists the detectors that find addresses: addresses of people, of machines, and of wallets.
import type { Detector } from '../../detector.ts';
import { cryptoPrefixed, cryptoToken } from './crypto-address.ts';
import { email } from './email.ts';
import { ipv4, ipv6 } from './ip-address.ts';
import { macAddress, namedMacAddress } from './mac-address.ts';

export const addressDetectors: readonly Detector[] = [email, ipv4, ipv6, macAddress, namedMacAddress, cryptoToken, cryptoPrefixed];
