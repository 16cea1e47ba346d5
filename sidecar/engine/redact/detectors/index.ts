// Lists all detectors. If findings overlap, the longest determines the kind. If findings are equal, the first detector
// in this list determines it.
import type { Detector } from '../detector.ts';
import { addressDetectors } from './addresses/index.ts';
import { credentials } from './credentials/index.ts';
import { password, secret } from './named/by-name.ts';
import { passwordColumn, secretColumn } from './named/columns.ts';
import { flaggedPassword } from './named/command-flags.ts';
import { insertedPassword, insertedSecret } from './named/insert-columns.ts';
import { pipedPassword } from './named/piped-password.ts';
import { recoveryCodes, seedPhrase } from './named/recovery.ts';
import { commandPassword } from './named/spoken-commands.ts';
import { iban } from './numbers/iban.ts';
import { nationalId } from './numbers/national-id.ts';
import { nationalIdColumn, phoneColumn } from './numbers/number-columns.ts';
import { paymentCard } from './numbers/payment-card.ts';
import { phone } from './numbers/phone.ts';
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
  flaggedPassword,
  pipedPassword,
  insertedPassword,
  insertedSecret,
  seedPhrase,
  recoveryCodes,
];
