// Passwords and secrets that are found by a name next to them: in which notations they are redacted, and which values
// next to such a name stay.
import { plainRedaction } from '@tollgate/proto/contract';
import { createNumbers, createRedactor } from '@tollgate/sidecar/engine/redact';
import { expect, test, vi } from 'vitest';
import { bitsPerCharacter } from '../../../../sidecar/engine/redact/detectors/entropy.ts';
import { password, secret } from '../../../../sidecar/engine/redact/detectors/named/by-name.ts';
import { passwordColumn, secretColumn } from '../../../../sidecar/engine/redact/detectors/named/columns.ts';
import { meaningOf } from '../../../../sidecar/engine/redact/detectors/named/names.ts';
import { commandPassword } from '../../../../sidecar/engine/redact/detectors/named/spoken-commands.ts';
import { isPlaceholder } from '../../../../sidecar/engine/redact/detectors/placeholders.ts';
import { createFinder, nothingKnown } from '../../../../sidecar/engine/redact/finder.ts';

// P and S in the tables. The values are invented.
const chosen = 'Kaffee!Wolke7';
const drawn = 'k9Jx2QpV7mZt4LwR8sYb';
const filled = (text: string): string => text.replaceAll('‹P›', chosen).replaceAll('‹S›', drawn);

const redactor = createRedactor(plainRedaction, []);
const shortened = (text: string): string =>
  text.replaceAll(/\[redacted:password#\d+\]/g, '‹P›').replaceAll(/\[redacted:secret#\d+\]/g, '‹S›');
const redact = (text: string): string => shortened(redactor.redactText(filled(text), createNumbers()).text);
const redactJson = (value: unknown): unknown =>
  JSON.parse(shortened(redactor.redactJson(filled(JSON.stringify(value)), createNumbers()).text));

test.each([
  'password=‹P›',
  'password: ‹P›',
  'spring.datasource.password=‹P›',
  "'password' => '‹P›',",
  'password := "‹P›"',
  "$password = '‹P›';",
  'private static final String PASSWORD = "‹P›";',
  'let password: String = "‹P›".to_string();',
  'os.environ["DB_PASSWORD"] = "‹P›"',
  'os.getenv("DB_PASSWORD", "‹P›")',
  'process.env.API_KEY || "‹S›"',
  'setPassword("‹P›")',
  "define( 'DB_PASSWORD', '‹P›' );",
  'String::from("x"); secret: String::from("‹S›")',
  'mysqldump --password=‹P› --all',
  'push --api-token ‹S› --release 4',
  'docker run -e API_TOKEN=‹S› img',
  '- name: API_TOKEN\n  value: "‹S›"',
  'token: |\n  ‹S›\n',
  'variable "auth_token" {\n  type = string\n  default = "‹S›"\n}',
  'body: user=a;api_secret=‹S›;grant_type=x',
  'client_secret%3D‹S›%26grant',
  'token\\u003d‹S›',
  '\\"password\\":\\"‹P›\\"',
  '\\\\\\"password\\\\\\":\\\\\\"‹P›\\\\\\"',
  '&quot;password&quot;:&quot;‹P›&quot;',
  '&lt;password&gt;‹P›&lt;/password&gt;',
  '<apiKey>‹S›</apiKey>',
  '<Resource username="erp" password="‹P›" url="x"/>',
  '<input type="password" name="password" value="‹P›">',
  '<key>ApiSecret</key><string>‹S›</string>',
  '<td>Password</td><td>‹P›</td>',
  '* **Shared secret:** ‹S›',
  '| Password | `‹P›` |',
  "CREATE USER 'a'@'%' IDENTIFIED BY '‹P›';",
  "CREATE LOGIN x WITH PASSWORD = N'‹P›', CHECK_POLICY = ON;",
  "ConvertTo-SecureString '‹P›' -AsPlainText -Force",
  "sshpass -p '‹P›' ssh host",
  'machine h login maven password ‹P›',
  'the admin password is ‹P›.',
  'Log in as "tech" with password "‹P›" and continue',
  'Your API key is ‹S›, keep it',
  'Passwort für den Drucker: ‹P›',
  'das Passwort lautet ‹P›.',
  'mot de passe du coffre est « ‹P› », merci',
  'contraseña ‹P›, gracias',
  'a senha do relatório: ‹P›',
  'hasło to ‹P›',
  'Пароль от сети — ‹P›',
  'Şifreniz: ‹P›',
  'mật khẩu là ‹P›',
  'كلمة المرور هي ‹P›',
  'सर्वर का पासवर्ड है "‹P›"',
  '用户名是a，密码是‹P›，请不要修改',
  'パスワードは「‹P›」です',
  'APIキーは‹S›になります。',
  '관리자 비밀번호: ‹P› (초기값)',
  'รหัสผ่านคือ ‹P›',
  'password: "never‹P›ends',
])('in %j only the value is redacted', (text) => {
  const hidden = redact(text);
  expect(hidden).toBe(text.replace('password: "never‹P›ends', 'password: "‹P›'));
  expect(hidden).not.toContain(chosen);
  expect(hidden).not.toContain(drawn);
});

test.each([
  'password = getPassword()',
  'token: str = None',
  'const { password, token } = req.body;',
  'apiKey: process.env.OPENAI_API_KEY!',
  'password: ${{ secrets.DOCKER_PASSWORD }}',
  'password: {{ .Values.db.password }}',
  'password = Column(String(128), nullable=False)',
  "'password' => 'required|min:8|confirmed'",
  'UPDATE users SET password = :password WHERE id = 42',
  '`password` varchar(255) DEFAULT NULL,',
  'if (password === "abc12345!") {}',
  'token := <-ch',
  'password_min_length = 12',
  'token_endpoint = "https://id.vela.example/token"',
  'page_token=bNqvocbRs3hvVZ2kFQt0SM0QRx4HTgby',
  'max_tokens: 8192',
  'public_key = "AAAAB3NzaC1yc2EAAAADAQABAAABgQC7"',
  'password: ********',
  'SECRET_KEY=changeme',
  'API_KEY=<your key>',
  'Password: must contain 1 digit, 1 symbol',
  'password changed on 2024-05-01',
  'Das Passwort: bitte niemals weitergeben',
  'パスワード:12文字以上で設定してください。',
  '密码：至少8位',
  'the secret ingredient is E471',
  'tests: pass 118 of 120',
  'arn:aws:secretsmanager:eu-west-1:123456789012:secret:app/key-AbCdEf',
  'PASSWORD_FILE=/run/secrets/db_pass1',
  'password-reset-guide2024',
  'compass: N45E7x9',
])('%j is not redacted', (text) => {
  expect(redact(text)).toBe(text);
});

test('a JSON value is redacted by its key, by the name in a pair, and by the option before it', () => {
  const value = {
    smtp: { user: 'mail', pass: '‹P›', port: 2525 },
    env: [
      { name: 'DB_PASSWORD', value: '‹P›' },
      { name: 'DB_PORT', value: '5432' },
    ],
    Parameters: [{ ParameterKey: 'MasterPassword', ParameterValue: '‹P›' }],
    argv: ['push', '--api-token', '‹S›', '--release', '4.2.0'],
    wachtwoord: '‹P›',
    x_api_key: '‹S›',
    refreshToken: null,
    password: 'is too short (minimum is 12 characters)',
    secret: 'prod/db',
    token: 'the',
  };
  expect(redactJson(value)).toEqual(value);
});

test('a column is redacted that its header names, to the end of its rows', () => {
  expect(redact('app,client_secret,rotated\na,‹S›,2024-12-01\nb,‹S›,2025-01-14\nend')).toBe(
    'app,client_secret,rotated\na,‹S›,2024-12-01\nb,‹S›,2025-01-14\nend',
  );
  expect(redact('benutzer\tkennwort\tseit\nt.reiter\tBergziege1\t2022\nv.haas\tfelsen_03\t2024')).toBe(
    'benutzer\tkennwort\tseit\nt.reiter\t‹P›\t2022\nv.haas\t‹P›\t2024',
  );
  expect(redact('| user | password |\n|---|---|\n| bob | `‹P›` |\n| amy | tba |')).toBe(
    '| user | password |\n|---|---|\n| bob | `‹P›` |\n| amy | tba |',
  );
  expect(redact('token,id,score\nĠpassword,8810,-6.5\n##key,28226,-11.3\n')).toBe(
    'token,id,score\nĠpassword,8810,-6.5\n##key,28226,-11.3\n',
  );
});

test.each([
  ['db_password', 'password'],
  ['DBMasterPassword', 'password'],
  ['confirmPassword2', 'password'],
  ['PGPASSWORD', 'password'],
  ['mot de passe', 'password'],
  ['X-Api-Key', 'secret'],
  ['partner_api_key__c', 'secret'],
  ['clientSecret', 'secret'],
  ['token_salt', null],
  ['password_hash', null],
  ['showPassword', null],
  ['nextPageToken', null],
  ['tokenizer', null],
  ['partitionKey', null],
  ['publicKey', null],
  ['', null],
])('the name %j means %j', (name, named) => {
  expect(meaningOf(name).named).toBe(named);
});

test.each([
  'sk-xxxx',
  'AKIA¦IOSFODNN7EXAMPLE',
  'your-api-key',
  '${TOKEN}',
  '{{ x }}',
  '<token>',
  '%TOKEN%',
  '********',
  'sk-...',
  '1234567890abcdef',
  'a1b2c3d4e5f6',
  'abcabcabc',
  '00000000-0000',
  'op://Private/db',
  'null',
  '',
])('%j is a placeholder', (value) => {
  expect(isPlaceholder(value.replaceAll('¦', ''))).toBe(true);
});

test.each([chosen, drawn, 'hunter2', 'Herbstlaub77', `${'A'.repeat(22)}${drawn}${drawn}${drawn}`, '7xXX6Y5BtiMxsoWt6Wc6'])(
  '%j is not a placeholder',
  (value) => {
    expect(isPlaceholder(value)).toBe(false);
  },
);

test('entropy is 0 for one repeated character and the logarithm for different ones', () => {
  expect(bitsPerCharacter('')).toBe(0);
  expect(bitsPerCharacter('aaaa')).toBe(0);
  expect(bitsPerCharacter('0123456789abcdef')).toBe(4);
});

const worst = [
  'password',
  'pw ',
  'pw=',
  '密码',
  '密码="',
  'token: *',
  'key_',
  'secret is ',
  'pass=a b c"',
  'token,b\n',
  'password|x|y\n',
  'identified by ',
  'mysql x ',
];

test.each(worst)('for repeated %j, the number of checks grows in proportion to the text', (piece) => {
  const finder = createFinder([password, secret, passwordColumn, secretColumn, commandPassword]);
  const looked = (length: number): number => {
    const text = piece.repeat(Math.ceil(length / piece.length));
    const tested = vi.spyOn(RegExp.prototype, 'test');
    finder.find(text, 0, nothingKnown, { spend: () => undefined });
    const times = tested.mock.calls.length;
    tested.mockRestore();
    return times;
  };
  expect(looked(20_000)).toBeLessThan(looked(10_000) * 2.2 + 100);
});
