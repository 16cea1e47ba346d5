// Keys, tokens, headers, URLs and connection strings, with each family of detectors alone: nothing else is found here.
import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { credentials } from '../../../../sidecar/engine/redact/detectors/credentials/index.ts';
import { createFinder, nothingKnown, replaceFound } from '../../../../sidecar/engine/redact/finder.ts';
import { createNumbers, createRedactor } from '../../../../sidecar/engine/redact/index.ts';
import { createWork, workMax } from '../../../../sidecar/engine/redact/work.ts';

/** A bar breaks values that scanners of code hosts would report as real. */
const t = (parts: TemplateStringsArray, ...values: readonly string[]): string => String.raw(parts, ...values).replaceAll('¦', '');

const finder = createFinder(credentials);
const redacted = (text: string): string => replaceFound(text, 0, finder.find(text, 0, nothingKnown, createWork()), (kind) => `<${kind}>`);
const everything = createRedactor({ off: [], patterns: [], allow: [] }, []);
const redactedJson = (value: unknown): string =>
  everything.redactJson(JSON.stringify(value), createNumbers()).text.replaceAll(/#\d+\]/g, ']');

const hex = '83bf10c97ad2e65f41b0d8e2c6a97f35';
const drawn = 'k7Rt29xQmZ4pLw8v';
const login = Buffer.from('ci-bot:Zq9!kkLm').toString('base64');

const rsa = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey;
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
const ed = generateKeyPairSync('ed25519').privateKey;
const pem = String(rsa.export({ type: 'pkcs1', format: 'pem' }));
const body = (key: string): string => key.split('\n').slice(1, -2).join('\n');
const around = (key: string, by: (line: string) => string = (line) => line): string => {
  const lines = key.trim().split('\n');
  return [by(lines[0] ?? ''), by('<private_key>'), by(lines.at(-1) ?? '')].join('\n');
};

describe('a private key', () => {
  test.each([
    ['PKCS#1', pem],
    ['PKCS#8', String(rsa.export({ type: 'pkcs8', format: 'pem' }))],
    ['encrypted PKCS#8', String(rsa.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' }))],
    ['SEC 1', String(ec.export({ type: 'sec1', format: 'pem' }))],
    ['Ed25519', String(ed.export({ type: 'pkcs8', format: 'pem' }))],
  ])('in PEM, as %s, loses what is between its first and its last line', (_form, key) => {
    expect(redacted(key.trim())).toBe(around(key));
    expect(redacted(`"${key.trim().replaceAll('\n', '\\n')}"`)).toBe(`"${around(key).replaceAll('\n', '\\n')}"`);
    expect(redacted(`密钥${key.trim().replaceAll('\n', '\\\\r\\\\n')}`)).toBe(`密钥${around(key).replaceAll('\n', '\\\\r\\\\n')}`);
    expect(redacted(key.trim().replaceAll('\n', ' '))).toBe(around(key).replaceAll('\n', ' '));
  });

  test.each(['> ', '# ', '    ', 'app-1  | ', '2025-01-04T10:11:12Z web[3]: ', '+'])(
    'whose lines all begin with %j is found as one key',
    (prefix) => {
      expect(redacted(pem.trim().replaceAll(/^/gm, prefix))).toBe(around(pem, (line) => prefix + line));
    },
  );

  test('keeps its headers', () => {
    const headers = 'Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,C408304A441F3CDC8353E39348F48938\n\n';
    expect(redacted(pem.replace('\n', `\n${headers}`).trim())).toBe(around(pem).replace('\n', `\n${headers}`));
  });

  test('that is cut off loses what is there', () => {
    expect(redacted(pem.slice(0, 400))).toBe('-----BEGIN RSA PRI¦VATE KEY-----\n<private_key>'.replace('¦', ''));
    expect(redacted(`{"key":"${pem.slice(0, 400).replaceAll('\n', '\\n')}"`)).toBe(
      `{"key":"-----BEGIN RSA PRI¦VATE KEY-----\\n<private_key>"`.replace('¦', ''),
    );
  });

  test('is found without armour by its beginning, and in base64 of its armour', () => {
    for (const key of [pem, String(ec.export({ type: 'sec1', format: 'pem' })), String(ed.export({ type: 'pkcs8', format: 'pem' }))]) {
      expect(redacted(`data: ${body(key)}\n`)).toBe('data: <private_key>\n');
      expect(redacted(`data: ${Buffer.from(key).toString('base64')}\nnext: 1`)).toBe('data: <private_key>\nnext: 1');
    }
    for (const der of [rsa, ec, ed].map((key) => key.export({ type: 'pkcs8', format: 'der' }).toString('base64')))
      expect(redacted(der)).toBe('<private_key>');
  });

  test('as a JSON Web Key loses its private members, in any order', () => {
    const of = (key: typeof rsa): string => JSON.stringify(key.export({ format: 'jwk' }));
    const marked = (json: string): string => json.replaceAll(/("(?:d|p|q|dp|dq|qi)":")[^"]*/g, '$1<private_key>');
    for (const jwk of [rsa, ec, ed].map(of)) {
      expect(redacted(`key ${jwk}`)).toBe(marked(`key ${jwk}`));
      expect(redactedJson(JSON.parse(jwk))).toBe(marked(jwk).replaceAll('<private_key>', '[redacted:private_key]'));
    }
  });

  test.each([63, 62, 127, 126, 255, 511])('a member of a JSON Web Key that lacks leading zeros, of %i bytes, is found', (bytes) => {
    const dp = Buffer.from(Array.from({ length: bytes }, (_, at) => (at * 151 + 77) % 256)).toString('base64url');
    expect(redacted(`{"kty":"RSA","dp":"${dp}"}`)).toBe('{"kty":"RSA","dp":"<private_key>"}');
  });

  test.each([
    [`PrivateKey = yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=`, 'PrivateKey = <private_key>'],
    ['私钥是「yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=」', '私钥是「<private_key>」'],
    ['the private key is 0x4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318.', 'the private key is <private_key>.'],
    [t`AGE-SEC¦RET-KEY-1HL26FMX98JKHWGLJPRKZ5KR8DEZC3S070HDSWERU0ZRE5DMK643SL5MRWK`, '<private_key>'],
    [
      'Private-Lines: 1\r\ncsAsdqz4+hEisfywuuf8i54MDM9nW45+LkiqvIADy0w4ZXbH\r\nPrivate-MAC: 61061f',
      'Private-Lines: 1\r\n<private_key>\r\nPrivate-MAC: 61061f',
    ],
  ])('%s', (text, becomes) => expect(redacted(text)).toBe(becomes));

  test.each([
    `-----BEGIN PUBLIC KEY-----\n${body(pem)}\n-----END PUBLIC KEY-----`.replace(/MII.{3}I/, 'MFkwEwY'),
    '-----BEGIN CERTIFICATE-----\nMIIBMjCB2KADAgECAhAERormRTyXmwmXQuFIhXOdMAoGCCqGSM49BAMCMBwxGjAY\n-----END CERTIFICATE-----',
    '-----BEGIN PRI¦VATE KEY-----\n...\n-----END PRIVATE KEY-----'.replace('¦', ''),
    '-----BEGIN RSA PRI¦VATE KEY-----\nMIIEpAIBAAKCAQEA...\n-----END RSA PRIVATE KEY-----'.replace('¦', ''),
    t`if (!pem.includes('-----BEGIN PRI¦VATE KEY-----')) throw new Error('/etc/ssl/private/of/the/server/that/answers');`,
    'PublicKey = yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=',
    'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEUTLP0386IJAd3rpRHI+C8t1Vi0mvPjppuB0FPzXFrw laptop',
  ])('is not found in: %s', (text) => expect(redacted(text)).toBe(text));
});

describe('a JSON Web Token', () => {
  const part = (of: object): string => Buffer.from(JSON.stringify(of)).toString('base64url');
  const signed = `${part({ alg: 'HS256', typ: 'JWT' })}.${part({ sub: 'usr_41', exp: 1_750_000_000 })}.c2lnbmF0dXJlLW9mLXRoaXM`;

  test.each([
    [signed, '<jwt>'],
    [`令牌是${signed}，有效`, '令牌是<jwt>，有效'],
    [`"\\n${signed}\\n"`, '"\\n<jwt>\\n"'],
    [`next%3D${signed}%26x`, 'next%3D<jwt>%26x'],
    [`a token ${signed}. It expires`, 'a token <jwt>. It expires'],
    [`/embed/${signed}#x=1`, '/embed/<jwt>#x=1'],
    [`${signed}~WyJzYWx0IiwibmFtZSJd~`, '<jwt>'],
    [`${part({ alg: 'none' })}.${part({ sub: 'usr_41' })}.`, '<jwt>'],
    [`${part({ typ: 'JWT', alg: 'HS256' })}.${part({ sub: 'usr_41' })}`, '<jwt>'],
    [`${part({ alg: 'dir', enc: 'A256GCM' })}..uky87hN2GAqluta.s_rTlcxT10nBXgPOoga5Pp_O9h.Y53iTkn5Uau2AQIHP4SayA!`, '<jwt>!'],
  ])('%s', (text, becomes) => expect(redacted(text)).toBe(becomes));

  test.each([
    part({ alg: 'RS256', typ: 'JWT' }),
    `${part({ event: 'page_view', path: '/x' })}.foo.bar`,
    `{"data":"${part({ alg: 'RS256', typ: 'JWT', kid: 'a' })}=="}`,
    `xx${signed}`,
    'eyJhbGciOi...',
  ])('is not found in: %s', (text) => expect(redacted(text)).toBe(text));
});

describe('an authorization', () => {
  test.each([
    ['Authorization: Bearer mF_9.B5f-4.1JqM', 'Authorization: Bearer <authorization>'],
    [`-H "authorization:token ${hex}"`, '-H "authorization:token <authorization>"'],
    [`{\\"Authorization\\":\\"ApiKey ${drawn}\\"}`, '{\\"Authorization\\":\\"ApiKey <authorization>\\"}'],
    [`'Authorization' => 'Basic ${login}',`, "'Authorization' => 'Basic <authorization>',"],
    [`req.Header.Set("Authorization", "Bearer ${drawn}")`, 'req.Header.Set("Authorization", "Bearer <authorization>")'],
    [`<header name="Authorization">Basic ${login}</header>`, '<header name="Authorization">Basic <authorization></header>'],
    [`Authorization%3A%20Bearer%20${drawn}%0A`, 'Authorization%3A%20Bearer%20<authorization>%0A'],
    [`"name":"Authorization","value":"GenieKey ${drawn}"`, '"name":"Authorization","value":"GenieKey <authorization>"'],
    [`Authorization: ${hex}`, 'Authorization: <authorization>'],
    [
      `Authorization: Digest username="m", nonce="152f", response="${hex}", opaque="2"`,
      'Authorization: Digest username="m", nonce="152f", response="<authorization>", opaque="2"',
    ],
    [
      `AWS4-HMAC-SHA256 Credential=x/2025/s3, SignedHeaders=host;x-amz-date, Signature=${hex}${hex.toUpperCase()}`,
      'AWS4-HMAC-SHA256 Credential=x/2025/s3, SignedHeaders=host;x-amz-date, Signature=<authorization>',
    ],
    [`요청은 Basic ${login}입니다`, '요청은 Basic <authorization>입니다'],
    [`the bearer token: ${hex}.`, 'the bearer token: <authorization>.'],
    [`{ "auth": "${login}" }`, '{ "auth": "<authorization>" }'],
    [`//registry.kettle.example/:_auth=${login}`, '//registry.kettle.example/:_auth=<authorization>'],
    ['curl -u ops:hunter22 https://x.example', 'curl -u ops:<authorization> https://x.example'],
    ["curl --user 'ops:pa ss;w' -k", "curl --user 'ops:<authorization>' -k"],
    ["requests.get(url, auth=('ops', 's3cr3tX'))", "requests.get(url, auth=('ops', '<authorization>'))"],
    ['req.SetBasicAuth("ops", "s3cr3tX")', 'req.SetBasicAuth("ops", "<authorization>")'],
    [`Cookie: theme=dark; sid=${drawn}; lang=de`, 'Cookie: theme=dark; sid=<authorization>; lang=de'],
    [`Set-Cookie: sess="${hex}"; Path=/; HttpOnly`, 'Set-Cookie: sess="<authorization>"; Path=/; HttpOnly'],
    [`HTTP_COOKIE=__Host-session=${hex}`, 'HTTP_COOKIE=__Host-session=<authorization>'],
    [`Cookie%3A%20sid%3D${drawn}%3B%20x%3D1`, 'Cookie%3A%20sid%3D<authorization>%3B%20x%3D1'],
    [`/app;jsessionid=${hex.toUpperCase()}?page=2`, '/app;jsessionid=<authorization>?page=2'],
  ])('%s', (text, becomes) => expect(redacted(text)).toBe(becomes));

  test.each([
    'He was the Bearer of bad news: basic authentication is deprecated and bearer token authentication stays.',
    'WWW-Authenticate: Bearer realm="api", error="invalid_token"',
    'Authorization: Bearer <token>',
    'headers: { Authorization: `Bearer ${process.env.TOKEN}` }',
    "'Authorization: Bearer ' + accessToken1",
    'authorization_endpoint: https://id.example/authorize7788990011aabb',
    'The authorization server https://auth.kettle.example/realms/v2 denies it',
    'proxy_set_header Authorization $http_authorization;',
    'curl -u "$USER:$PASSWORD" https://x.example',
    'docker run -u 1000:1000 image && git push -u origin main:main',
    'auth=(user, password)',
    'Cookie: _ga=GA1.2.720032033.7907545979; consent=1; tz=Europe%2FVienna',
    'Cookie: request=7c9a1f0e-2b4d-4c6e-8f1a-3d5b7e9f1a2c',
    'cookie_samesite = lax',
  ])('is not found in: %s', (text) => expect(redacted(text)).toBe(text));

  test('is recognised by the key of a payload, and by the name next to a value', () => {
    expect(redactedJson({ headers: { authorization: [hex], cookie: `sid=${drawn}; lang=de` } })).toBe(
      '{"headers":{"authorization":["[redacted:authorization]"],"cookie":"sid=[redacted:authorization]; lang=de"}}',
    );
    expect(redactedJson([{ name: 'laravel_session', value: hex }])).toBe('[{"name":"laravel_session","value":"[redacted:authorization]"}]');
  });
});

describe('credentials of a URL', () => {
  test.each([
    ['postgres://app:Zq9!kk@db:5432/app', 'postgres://app:<url_credentials>@db:5432/app'],
    ['redis://:f1c34ffebd6b@cache/3', 'redis://:<url_credentials>@cache/3'],
    ['postgres://app:pa/ss#w?rd9@db:5432/app', 'postgres://app:<url_credentials>@db:5432/app'],
    ['连接串：mysql://report:nkg5ZrwQsUkQ@10.0.0.5:3306/bi，只读', '连接串：mysql://report:<url_credentials>@10.0.0.5:3306/bi，只读'],
    ['value=&quot;amqp://batch:3Pdc-l0G@mq/&quot;', 'value=&quot;amqp://batch:<url_credentials>@mq/&quot;'],
    [`https://${hex}:x-oauth-basic@git.example/x.git`, 'https://<url_credentials>:x-oauth-basic@git.example/x.git'],
    ['https%3A%2F%2Fops%3As3cr%21t9%40h.example%2Fx', 'https%3A%2F%2Fops%3A<url_credentials>%40h.example%2Fx'],
    ['jdbc:oracle:thin:scott/tig3rX@//h:1521/s', 'jdbc:oracle:thin:scott/<url_credentials>@//h:1521/s'],
    ['app:Zq9kk!x@tcp(db:3306)/app', 'app:<url_credentials>@tcp(db:3306)/app'],
    [`https://x.example/f?a=1&sig=4KLckgmn%2FcOg%3D&se=2`, 'https://x.example/f?a=1&sig=<url_credentials>&se=2'],
    [`(https://x.example/f?access_key=${drawn})`, '(https://x.example/f?access_key=<url_credentials>)'],
    [
      `next=https%3A%2F%2Fx%3Faccess_token%3D${hex}%26name%3Dp.pdf`,
      'next=https%3A%2F%2Fx%3Faccess_token%3D<url_credentials>%26name%3Dp.pdf',
    ],
    [`src="/t.png?v=4&amp;key=${drawn}"`, 'src="/t.png?v=4&amp;key=<url_credentials>"'],
    ['Server=db;User Id=a;Password=ADz^SJ#3b*a1;Encrypt=True', 'Server=db;User Id=a;Password=<url_credentials>;Encrypt=True'],
    ["Data Source=db;Password='BzM Th^6'", "Data Source=db;Password='<url_credentials>'"],
    ['Uid=tableau;Pwd={5sjIAZhXtwnR.kW1};', 'Uid=tableau;Pwd={<url_credentials>};'],
    [
      'Endpoint=sb://x/;SharedAccessKey=BZa9M/y9U8vs6DzTOz2hUpqYcurKBAaSrg1Z8ksViq4=;EntityPath=in',
      'Endpoint=sb://x/;SharedAccessKey=<url_credentials>;EntityPath=in',
    ],
  ])('%s', (text, becomes) => expect(redacted(text)).toBe(becomes));

  test.each([
    'postgres://%s:%s@%s/%s',
    'mongodb+srv://<username>:<password>@cluster0.example/test',
    'postgres://app:${DB_PASSWORD}@db:5432/app',
    'https://user:password@localhost:8443/x',
    'http://localhost:3000/@vite/client and https://blog.example/@joe/post-123',
    'ssh://git@github.com:22/x.git http://[::1]:8080/a@b',
    'https://x.example/q?page_token=bNqvocbRs3hvVZ2kFQt0SM0QRx4&sort_key=9f2c',
    'https://x.example/q?api_key=YOUR_API_KEY&code=404&key=name',
    'https://x.example/q?q=forgot+password&token=',
    'Server=db;Password=#{DbPassword}#;Pwd=%DB_PWD%;Password={0};',
    'it stood here; password=Zw3-Rauhreif+71',
    'this.password=password; const pwd=process.env.PWD;',
  ])('are not found in: %s', (text) => expect(redacted(text)).toBe(text));
});

test('the detectors are called at so few places that no repeated anchor uses up the budget of a call', () => {
  const fills = ['', 'a', 'aB3', '=', ':', '"', '@', 'a=b;', '%41', '\\n', '-----'];
  const units = credentials.flatMap(({ anchors }) =>
    (anchors === 'digits' ? [] : anchors).flatMap((anchor) => fills.map((fill) => anchor + fill)),
  );
  for (const unit of units) {
    let spent = 0;
    finder.find(unit.repeat(Math.ceil(2_000 / unit.length)), 0, nothingKnown, { spend: (work) => (spent += work) });
    expect(spent, unit).toBeLessThan(2_000 * 16);
    expect(spent * 50).toBeLessThan(workMax);
  }
});
