// Secrets that only their context reveals: statements, commands, dialogues, filled-in pages. Similar texts that reveal
// nothing stay unchanged.
import { plainRedaction } from '@tollgate/proto/contract';
import { createNumbers, createRedactor } from '@tollgate/sidecar/engine/redact';
import { expect, test } from 'vitest';

const redactor = createRedactor(plainRedaction, []);
const plain = (text: string): string => text.replaceAll('¦', '').replaceAll(/\[redacted:[a-z_]+#\d+\]/g, '<>');
const redact = (text: string): string => plain(redactor.redactText(text.replaceAll('¦', ''), createNumbers()).text);
const redactJson = (value: unknown): string => plain(redactor.redactJson(JSON.stringify(value), createNumbers()).text);

const drawn = 'k3Jq9ZxW2mVb7Tn5RcLd8Hf4Gs6Pa0YuEo1IiQ7w';
const hex = '3f9a1c7e5b0d8642e7c1a95d3b80f624';
const uuid = '3f9a1c7e-5b0d-4642-a7c1-a95d3b80f624';

test.each([
  [
    'columns of an INSERT',
    `INSERT INTO app(name, api_secret) VALUES ('crm', '${drawn}')`,
    "INSERT INTO app(name, api_secret) VALUES ('crm', '<>')",
  ],
  [
    'each of its rows',
    "insert into u (id, password) values (1, 'Ebbe-Flut.3'), (2, 'Sand!Bank77');",
    "insert into u (id, password) values (1, '<>'), (2, '<>');",
  ],
  ['echo into sudo', "echo 'Sesam.99x' | sudo -S id", "echo '<>' | sudo -S id"],
  ['echo into chpasswd', 'echo "dev:Kutter-77x" | chpasswd', 'echo "dev:<>" | chpasswd'],
  ['echo into passwd, twice', 'echo -e "Kutter-77x\\nKutter-77x" | passwd dev', 'echo -e "<>\\n<>" | passwd dev'],
  ['routers', 'username ops secret 0 Sw1tch.Kiel', 'username ops secret 0 <>'],
  ['.pgpass', 'dwh.test:5432:fin:ro:pgp4ss-Elster\n', 'dwh.test:5432:fin:ro:<>\n'],
  ['what drives a browser', 'find(By.ID, "pwd").send_keys("Ente-7x!")', 'find(By.ID, "pwd").send_keys("<>")'],
  ['an answer in a chat', "bot: your password?\nmk: sure it's mopsi.2009", "bot: your password?\nmk: sure it's <>"],
  ['the line below', 'Ihr Kennwort lautet:\n\n  Falke-Regen-83\n', 'Ihr Kennwort lautet:\n\n  <>\n'],
  ['a definition', `API key\n: ${drawn}\n`, 'API key\n: <>\n'],
  ['a wrapped literal', "'password' => Hash::make('Larav3l-Start')", "'password' => Hash::make('<>')"],
  ['bytes of Go', `var ApiSecret = []byte("${drawn}")`, 'var ApiSecret = []byte("<>")'],
  ['Ruby', `key(api_key: %q(${drawn}))`, 'key(api_key: %q(<>))'],
  ['two literals', `h("Authorization", "Bearer " + "${drawn}")`, 'h("Authorization", "Bearer " + "<>")'],
  ['flow style', `{ key: "x-api-key", value: "${drawn}" }`, '{ key: "x-api-key", value: "<>" }'],
  ['flags between', `put --name /p/hmac_secret --type S --value "${drawn}"`, 'put --name /p/hmac_secret --type S --value "<>"'],
  ['key stores', 'keytool -srcstorepass Tonkrug7 -v', 'keytool -srcstorepass <> -v'],
  ['a particle in brackets', '비밀번호를 Han9ang!dal(으)로', '비밀번호를 <>(으)로'],
  ['a login of Oracle', 'connect("hr/Tig3r_Lilie@dbhost:1521/X")', 'connect("hr/<>@dbhost:1521/X")'],
  ['slashes escaped', 'u="postgresql:\\/\\/shop:mond-FINSTER-4@db\\/s"', 'u="postgresql:\\/\\/shop:<>@db\\/s"'],
  ['no more than the user of a URL', `https://x-access-token:${drawn}@github.com/a/b.git`, 'https://x-access-token:<>@github.com/a/b.git'],
  [
    'the words of a wallet',
    'seed phrase: ribbon useful canal mimic olive drift pumpkin scatter velvet engine hollow jacket',
    'seed phrase: <>',
  ],
  ['codes to print', 'recovery codes:\n223f9-0a16b\n600c3-41b08\nKeep them.', 'recovery codes:\n<>\n<>\nKeep them.'],
  ['a flag of a command', 'ldapsearch -D cn=a,dc=w -w Ld4p-Kamm -b dc=w', 'ldapsearch -D cn=a,dc=w -w <> -b dc=w'],
  ['a flag without a blank', '7z x backup.7z -pZip.Siegel4 -o/tmp', '7z x backup.7z -p<> -o/tmp'],
  ['a flag that is given twice', 'snmpwalk -u mon -A snmpAuth77x -X snmpPriv88y sw1', 'snmpwalk -u mon -A <> -X <> sw1'],
  ['a share', 'net use Z: \\\\nas\\share Netz.Lauf3 /user:mk', 'net use Z: \\\\nas\\share <> /user:mk'],
  ['a password that is owned', "and the password's m00rhuhn-Kai pls", "and the password's <> pls"],
  ['beans', '<property name="password"><value>Bohne_77k</value>', '<property name="password"><value><></value>'],
  ['Hebrew', 'הסיסמה היא Galil-77x!', 'הסיסמה היא <>'],
  ['Anaconda', `https://conda.anaconda.org/t/we-${uuid}/werft`, 'https://conda.anaconda.org/t/<>/werft'],
  ['Snyk', `sn¦yk_uat.9feed5d4.${drawn}`, '<>'],
  ['Zhipu', `智谱的key是${hex}.HL1FeOmnfBj0SBQC，超时`, '智谱的key是<>，超时'],
  ['Mattermost', 'https://mm.test/hooks/lsxtfzidojt6arg1mxgl31vwim', 'https://mm.test/hooks/<>'],
])('%s', (_, text, redacted) => {
  expect(redact(text)).toBe(redacted);
});

test.each([
  ['outputs of Terraform', { signing_secret: { type: 'string', value: drawn } }],
  ['items of DynamoDB', { password: { S: 'Ebbe-Flut.3' } }],
  ['a selector', { action: 'fill', selector: 'input[type=password]', text: 'Ebbe-Flut.3' }],
  ['what a page shows', { element: 'Password textbox', ref: 'e12', text: 'Ebbe-Flut.3' }],
])('%s: the value that an object around it names is redacted', (_, value) => {
  const redacted = redactJson(value);
  expect(redacted).toContain('<>');
  expect(redacted).not.toMatch(/Ebbe|k3Jq/);
});

test.each([
  'insert into t (name, password) values ($1, $2)',
  "INSERT INTO labels (id, token) VALUES (1, 'Berlin'), (2, 'Kiel')",
  'echo "$PW" | sudo -S true',
  'page.locator("#password").type(user.password)',
  'git commit -m "rename to passphrase" --author="ci <ci@w>"',
  'Recovery codes: 10 left.',
  'Write the seed phrase on paper: twelve words which open your wallet should never stand in any file or chat.',
  'did you forget your password?\nmk: it is about the invoice',
  `SCALEWAY_ORG=${uuid}`,
  'パスワードを変更してください',
  'zip -r out.zip src && 7z x a.7z -o/tmp',
  "the password's expired again",
  'password 0 attempts left, password 7 days old',
  '{ name = "DB_PASSWORD", value = var.db_password }',
])('%s is not redacted', (text) => {
  expect(redact(text)).toBe(text);
});
