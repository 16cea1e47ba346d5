// Lists the detectors of credentials that are recognised by their surroundings: keys in armour, tokens of three parts,
// headers, URLs, connection strings.
import type { Detector } from '../../detector.ts';
import { authorization, encodedLogin, scheme } from './authorization.ts';
import { connectionString } from './connection-string.ts';
import { cookieHeader, sessionCookie } from './cookie.ts';
import { jwt } from './jwt.ts';
import { encodedKey, prefixedKey } from './key-form.ts';
import { loginArgument, loginCall } from './login-argument.ts';
import { jwkMember, jwkValue, namedKey } from './named-key.ts';
import { privateKey } from './private-key.ts';
import { urlParameter } from './url-parameter.ts';
import { driverLogin, encodedUrlPassword, urlPassword } from './url-password.ts';

/** If two detectors find the same text, the first in this list determines the kind. */
export const credentials: readonly Detector[] = [
  privateKey,
  encodedKey,
  prefixedKey,
  namedKey,
  jwkMember,
  jwkValue,
  jwt,
  authorization,
  scheme,
  encodedLogin,
  loginArgument,
  loginCall,
  cookieHeader,
  sessionCookie,
  urlPassword,
  encodedUrlPassword,
  driverLogin,
  urlParameter,
  connectionString,
];
