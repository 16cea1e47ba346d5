// Code, documents and lists of changes, which agents read often: they contain no secret and no personal number.
import { plainRedaction } from '@tollgate/proto/contract';
import { createNumbers, createRedactor } from '@tollgate/sidecar/engine/redact';
import { expect, test } from 'vitest';

const redactor = createRedactor(plainRedaction, []);
const redact = (text: string): string => redactor.redactText(text, createNumbers()).text;

test.each([
  "const commands = [\n  'ps',\n  'pwd',\n  'python',\n  'railway',\n];",
  'form fields:\nusername,\npassword,\nremember,\nsubmit,',
  '  | "password"\n  | "port"\n  | "statement_timeout"\n  | "application_name"',
  'class {\n\t_tokens;\n\t_clientInfo;\n\t_authorizationServerUrl;\n}',
  'name, password\nfirst, toSatisfy\nsecond, actualSubset',
])('a list of words is not a table: %j', (text) => expect(redact(text)).toBe(text));

test.each([
  'auth "$API/default/admin/audit?tool=github.create_issue&limit=20"',
  'docker run --rm -v $PWD:/spec tool lint',
  'const password = match?.[1];',
  'onresumptiontoken: options?.onresumptiontoken',
  'const plainPassword = /[^\\s"]{1,128}/y;',
  '(?<username>[^:]{1,100}):(?<password>[^@]{1,200})@',
  '- **Brackets**: `\'user["password"]\'`, `\'headers["X-Forwarded-For"]\'`',
  "paths: ['users.*.password', 'users.*.profile.preferences.*']",
  'The Bearer Token [Usage](https://www.rfc-editor.org/rfc/rfc6750.html#section-2.1)',
  'type Scheme = SecuritySchemeOauth2Password | SecuritySchemeOauth2Application;',
  'function open(place: Place, secrets: Secrets): Uint8Array | null {',
  'private_key: ed25519.Ed25519PrivateKey, f: List',
  'exports.ChannelCredentials = exports.createCertificateProviderChannelCredentials;',
  'protected credentials: HttpChatTransportInitOptions;',
  'read the username/password from $HOME',
  'by --username and --password options instead',
  'Pass `checkDMS` as `true`, or pass `spec=True` and -R/path',
  'it is `pass` or `fail`',
  'options to pass on to `@rollup/plugin-commonjs`',
  "user_pass = '%s:%s' % (user, word)",
  ':type passphrase: :py:data:`bytes`',
  'pass\n\n    @typing.overload\n',
  'passphrase: &lt;string|buffer&gt;',
])('code and documents name no value: %j', (text) => expect(redact(text)).toBe(text));

test.each([
  'Authorization: Bearer https://tools.ietf.org/html/rfc6750',
  '{"auth": "dXNlcjpwYXNzd29yZA=="}',
  "parse('postgres://someuser:somepassword@somehost:381/db')",
  "'mysql_username:mysql_password@tcp(127.0.0.1:3306)/'",
  'socket://user:pass@/var/run/db',
  'https://me:pw@issuer.test/',
  'this.noUpdateTTL=!!u,this.noDeleteOnFetchRejection=!!d',
  'PWD=/root ; USER=root ;',
])('a text that only shows how credentials are written is unchanged: %j', (text) => expect(redact(text)).toBe(text));

test.each([
  'phone library\n\n1.9.2 / 08.11.2020\n=====',
  'phone numbers\n * Date: 08.03.2018.',
  '<Buffer 02 01 04 03 06 05 08 07>',
  '28 13 de 3f 01 00 00 00 50 32',
  'the callback phone limit is 1073741823',
  'phone: 555-123-4567',
  'zap: Copyright 2006-2022',
  'benchmarks in 198.18.0.0/15',
  "case '1.3.101.112':",
  'IPv4 inside (RFC 4291, 2.5.5.2)',
])('counts, dates and section numbers are not personal numbers: %j', (text) => expect(redact(text)).toBe(text));
