// Every detector there is. Where findings meet, the longest gives its kind, and of equal ones the first in this list.
import type { Detector } from '../detector.ts';
import { addressDetectors } from './addresses/index.ts';
import { password, secret } from './by-name.ts';
import { passwordColumn, secretColumn } from './columns.ts';
import { credentials } from './credentials/index.ts';
import { iban } from './iban.ts';
import { insertedPassword, insertedSecret } from './insert-columns.ts';
import { nationalId } from './national-id.ts';
import { nationalIdColumn, phoneColumn } from './number-columns.ts';
import { paymentCard } from './payment-card.ts';
import { phone } from './phone.ts';
import { pipedPassword } from './piped-password.ts';
import { recoveryCodes, seedPhrase } from './recovery.ts';
import { commandPassword } from './spoken-commands.ts';
import { tokens } from './tokens/index.ts';

export const detectors: readonly Detector[] = [
  ...tokens,
  ...credentials,
  ...addressDetectors,
  paymentCard,
  iban,
  nationalId,
  phone,
  password,
  secret,
  passwordColumn,
  secretColumn,
  nationalIdColumn,
  phoneColumn,
  commandPassword,
  pipedPassword,
  insertedPassword,
  insertedSecret,
  seedPhrase,
  recoveryCodes,
];
