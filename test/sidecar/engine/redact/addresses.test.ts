// Addresses of people, machines and money: what is redacted, in which contexts, and which look-alikes stay.

import { plainRedaction } from '@tollgate/proto/contract';
import { createNumbers, createRedactor } from '@tollgate/sidecar/engine/redact';
import { expect, test } from 'vitest';

const redactor = createRedactor(plainRedaction, []);
/** Returns the text with each finding as the first letter of its kind in angle brackets: `<e>`. */
const redact = (text: string): string =>
  redactor.redactText(text, createNumbers()).text.replaceAll(/\[redacted:([a-z])[a-z_]*(?:#\d+)?\]/g, '<$1>');

test.each([
  ['write to o.lindqvist@fjallmark.se today', 'write to <e> today'],
  ['<a href="mailto:o.l+news@fjallmark.se?subject=1">', '<a href="mailto:<e>?subject=1">'],
  ['?mail=o.l%40fjallmark.se&x=1', '?mail=<e>&x=1'],
  ['?mail=a%40fjallmark.se', '?mail=<e>'],
  ['?q=mail%3Do.l%40fjallmark.se', '?q=mail%3D<e>'],
  ['?q=o.l%2540fjallmark.se', '?q=<e>'],
  ['{\\u0022to\\u0022:\\u0022ola\\u0040fjallmark.se\\u0022}', '{\\u0022to\\u0022:\\u0022<e>\\u0022}'],
  ['Hei\\nola@fjallmark.se\\nHade', 'Hei\\n<e>\\nHade'],
  ['ola&#64;fjallmark.se', '<e>'],
  ['\u001b[31mola@fjallmark.se\u001b[0m', '\u001b[31m<e>\u001b[0m'],
  ['ola [at] fjallmark [dot] se', '<e>'],
  ['ola(at)fjallmark.se', '<e>'],
  ['ola at fjallmark dot se', '<e>'],
  ["mail='ola@fjallmark.se'", "mail='<e>'"],
  ["f'ola@fjallmark.se'", "f'<e>'"],
  ["m.o'dwyer@fjallmark.se", '<e>'],
  ['jörg.müller@bäckerei-müller.de', '<e>'],
  ['почта: иван@почта.рф', 'почта: <e>'],
  ['請寄到ola@fjallmark.se，謝謝', '請寄到<e>，謝謝'],
  ['메일은 ola@fjallmark.se로', '메일은 <e>로'],
  ['メールはola@fjallmark.seまで', 'メールは<e>まで'],
  ['ola@fjallmark.se:Winter-Sonne', '<e>:Winter-Sonne'],
  ['12345678@qq.com, ola@fjallmark.se.', '<e>, <e>.'],
  ['da39a3ee5e6b4b0d3255bfef95601890afd80709 ola@fjallmark.se', 'da39a3ee5e6b4b0d3255bfef95601890afd80709 <e>'],
  [`${'x'.repeat(300)} ola@fjallmark.se`, `${'x'.repeat(300)} <e>`],
  [`${'A'.repeat(60)} ola@fjallmark.se`, `${'A'.repeat(60)} <e>`],
])('an e-mail address is found in %j', (text, redacted) => {
  expect(redact(text)).toBe(redacted);
});

test.each([
  'user@example.com',
  'jane@mail.example.org',
  'you@yourcompany.com',
  'your.name@fjallmark.se',
  'logo@2x.png',
  'left-pad@1.3.0',
  '@scope/pkg@4.17.21/index.js',
  'git@github.com:org/repo.git',
  'git clone ssh://git@code.fjallmark.se/repo.git',
  'scp out.tgz deploy@build.fjallmark.se:/srv/',
  'ssh -p 2222 ops@bastion.fjallmark.se',
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEUTLP0386IJAd3rpRHI+C8t1Vi0mvPjppuB0FPzXFrw ola@laptop.fjallmark.se',
  `ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAACAQ${'Dk7v/'.repeat(137)}== ola@fjallmark.se`,
  'getty@tty1.service',
  'this@MainActivity.finish()',
  '@app.route and @dataclass.field',
  'alpine@sha256:a3aa',
  'HEAD@{1}',
  'we met at noon, at dot com prices',
  'sum(at) and list.at(0)',
])('no e-mail address is found in %j', (text) => {
  expect(redact(text)).toBe(text);
});

test.each([
  ['from 84.176.104.16 port 51844', 'from <i> port 51844'],
  ['84.176.104.16:8443', '<i>:8443'],
  ['Address = 10.55.235.53/24', 'Address = <i>/24'],
  ['http://84.176.104.16/x', 'http://<i>/x'],
  ['ip%3D84.176.104.16%20ok', 'ip%3D<i>%20ok'],
  ['服务器地址是84.176.104.16，端口22', '服务器地址是<i>，端口22'],
  ['ping 5.4.3.2', 'ping <i>'],
  ['84.176.104.1-84.176.104.9', '<i>-<i>'],
  ['remote: \\"81.67.224.154:40122\\"', 'remote: \\"<i>:40122\\"'],
  ['host,version,ip\nweb,4.30.42.20,84.176.104.16', 'host,version,ip\nweb,4.30.42.20,<i>'],
  ['2a02:7cfb:8706:ced1:c71a:e402:c53b:b82d', '<i>'],
  ['for="[2a02:7cfb::b82d]:51022"', 'for="[<i>]:51022"'],
  ['ping: sendmsg to fe80::19e7:71ff:fe80:3d42%wlp3s0: down', 'ping: sendmsg to <i>%wlp3s0: down'],
  ['allow 2a0c:5bc1:f525:b66b::/64;', 'allow <i>/64;'],
  ['?ip=2a02%3A7cfb%3A%3Ab82d', '?ip=<i>'],
  ['::ffff:91.51.28.156', '<i>'],
])('an IP address is found in %j', (text, redacted) => {
  expect(redact(text)).toBe(redacted);
});

test.each([
  'version 7.10.189.80',
  'driver release 6.13.119.16 to 12.40.218.84',
  'Version 10.37.75.25, 版本8.0.47.231',
  'Chrome/104.0.49.118 Edg/104.0.62.179',
  'libfoo-1.38.138.37.tgz',
  'pkg==1.38.138.37',
  'v81.67.224.154',
  '2.0.4.1-3.noarch',
  'io.acme:portal:jar:10.36.106.58:runtime',
  'section 4.2.1.3, 4.2.1.4',
  '1.3.6.1.4.1.311.2',
  'app,installed_version\nReader,4.130.42.20\nPaint,15.118.44.79',
  'Name         Version\n----         -------\nAcme.Clock   5.9.107.27',
  '127.0.0.1 0.0.0.0/0 255.255.255.0 224.0.0.251',
  'nameserver 8.8.8.8, 1.1.1.1',
  '192.0.2.7 198.51.100.0/24 203.0.113.10',
  '10.0.0.0/8 172.16.0.0/12 192.168.0.0/16',
  '256.1.2.300, 01.02.03.04',
  '::1, ::/0, 2001:db8:1::/48, ff02::1',
  'std::vector<int> a::b face::cafe',
  '12:34:56 2025:11:20',
  '2001:4860:4860::8888',
])('no IP address is found in %j', (text) => {
  expect(redact(text)).toBe(text);
});

test.each([
  ['DHCPACK dc:a6:32:6a:45:69 tablet', 'DHCPACK <m> tablet'],
  ['AP-515,B8-27-EB-7B-E8-18,8.10', 'AP-515,<m>,8.10'],
  ['Host a4bb.6d78.7088 in vlan 120', 'Host <m> in vlan 120'],
  ['mac=9c%3Ab6%3Ad0%3Ad2%3A01%3A7f&v=1', 'mac=<m>&v=1'],
  ['\\tA4-BB-6D-7B-E8-18\\n', '\\t<m>\\n'],
  ['地址A4-BB-6D-7B-E8-18。', '地址<m>。'],
  ['"wifiMac": "9cb6d0d2017f"', '"wifiMac": "<m>"'],
])('a MAC address is found in %j', (text, redacted) => {
  expect(redact(text)).toBe(redacted);
});

test.each([
  'ff:ff:ff:ff:ff:ff 00:00:00:00:00:00 01:00:5e:7f:ff:fa 33:33:00:00:00:fb',
  '00:11:22:33:44:55 aa:bb:cc:dd:ee:ff',
  'ef:d4:ae:8b:a5:67:f7:99:aa:60:ce:cf:26:28:66:11',
  '20-11-25-10-33-12',
  'a4bb6d78-7088-4abc-9def-0123456789ab',
  'commit 9cb6d0d2017f',
])('no MAC address is found in %j', (text) => {
  expect(redact(text)).toBe(text);
});

// Made from random bytes and their checksums.
const bitcoin = '1Jes1CvZMmJsj1SFnX7TMW7oG5BY6EMi3o';
const segwit = 'bc1qy44lhpdnq777s6rwegh9t6aru5t2pcuyk5djn0';
const stellar = 'GCRK4IUXCMWSHEBNWNW5ZOU2BKL7VCIYL7F3D5WYCU5EAYWPPZHFUW5G';

test.each([
  [`pay ${bitcoin}, please`, 'pay <c>, please'],
  [`to%3D${bitcoin}%20x`, 'to%3D<c>%20x'],
  [`地址${bitcoin}。`, '地址<c>。'],
  [`\\n${bitcoin}\\n`, '\\n<c>\\n'],
  [`bitcoin:${segwit}?amount=1`, 'bitcoin:<c>?amount=1'],
  [segwit.toUpperCase(), '<c>'],
  ['to=0x728e9db5df237f846b3d5db5d31b6a84cb08ace4 gwei', 'to=<c> gwei'],
  [stellar, '<c>'],
  ['13zqTh1VuSEb4P6DtJSjfViRgHTp7hoyrSZBW89qxYn7D1nH', '<c>'],
  ['r9Wr6Au96Hkv2kUFNmST9Dgd8iog6fEf2g', '<c>'],
  ['tz1ZhXjyatnmpH7cBEvZXFx3KcFqc9VFoTRU', '<c>'],
  ['my sol wallet Bs4yyCm8gyWFLNPKnNLeUPj1bBiYZbJcF3aZny1ZN93B', 'my sol wallet <c>'],
])('a wallet is found in %j', (text, redacted) => {
  expect(redact(text)).toBe(redacted);
});

test.each([
  `${bitcoin.slice(0, -1)}p`,
  `${segwit.slice(0, -1)}1`,
  `${stellar.slice(0, -1)}H`,
  'Bs4yyCm8gyWFLNPKnNLeUPj1bBiYZbJcF3aZny1ZN93B',
  'QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWnu3X9',
  'age19ckqkulq5j0f6uyywrsafn3fsgvhfk4vmsn5aatvqmd0ygxmusfsx99pyv',
  '0x0000000000000000000000000000000000000000',
  `tx 0x${'3f9a1b7c'.repeat(8)}`,
])('no wallet is found in %j', (text) => {
  expect(redact(text)).toBe(text);
});

test.each([
  ['来源IP81.17.204.9（未知）', '来源IP<i>（未知）'],
  ['beacon to 81[.]17[.]204[.]9 daily', 'beacon to <i> daily'],
  ['81.17.204[.]9', '<i>'],
  ['ola dot berg at fjallmark dot se', '<e>'],
  ['ＯＬＡ＠ｆｊａｌｌｍａｒｋ．ｓｅ', '<e>'],
])('%j is found although it is written differently', (text, redacted) => {
  expect(redact(text)).toBe(redacted);
});

test.each(['ZIP81.17.204.9', 'a[1].b[2].c[3].d', 'redis=7.2.4.118'])('%j is not redacted', (text) => {
  expect(redact(text)).toBe(text);
});
