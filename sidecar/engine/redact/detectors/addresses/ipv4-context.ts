// Decides whether four numbers with dots are an address. The text around them decides, mainly the nearest known word
// before them. If that text says nothing, the numbers themselves decide.

import { createLabels } from '../context/labels.ts';
import { cellsAbove, lineStart } from '../numbers/headings.ts';

const words = (text: string): readonly string[] => text.trim().split(/\s*[,\n]\s*/);

const labels = createLabels({
  version: words(`
    version*, gameversion, ver, versão, versión, versione, verzi*, wersj*, versie, sürüm*, верси*, 版本, バージョン, 버전, الإصدار, إصدار, संस्करण, phiên bản, release*, revision, rev, build*, firmware*, fw,
    driver*, patch*, upgrade*, update*, latest, installed, sdk, assembly, edition, chrome, chromium, edge, firefox, safari, gecko, webkit, windows, macos, android, ios, installer, package*, nuget,
    paket*, section*, sect, chapter, clause, paragraph, §, kapitel, abschnitt, artikel, article, раздел*, oid, schema, model, modell, os, browser, software, platform, semver, tag`),
  address: words(`
    ip, ips, ip4, ipaddr, ipv4, ipaddress, addr, addrs, address*, adress*, adres, dirección, direccion, endereço, endereco, indirizzo, адрес*, 地址, アドレス, 주소, عنوان, host*, server*, servidor, serveur,
    сервер*, 服务器, 伺服器, サーバ, サーバー, 서버, client*, remote*, peer*, from, von, depuis, desde, src, dst, source, destination, dest, gateway, gw, dns, nameserver*, subnet*, network*, net, cidr, proxy,
    endpoint*, node*, ping, pinged, ssh, sshd, curl, wget, connect*, listen*, bind*, allow*, deny, denied, route*, traceroute, forwarded, x-forwarded-for, firewall, via, inet, login*, upstream, vpn, whitelist*,
    allowlist, blocklist, blacklist, ban, banned, in a, a record, rdata, telnet, nmap, ansible_host, machine*, box, instance*, vm, router*, switch*, printer*, camera*, nat`),
});

const lineReach = 96;

/** Returns whether the numbers from `start` to `stop` are an address. `octets`: their values. */
export function isAddressInContext(text: string, start: number, stop: number, octets: readonly number[]): boolean {
  const before = text.charAt(start - 1);
  if (before === '@' || (before === '/' && text[start - 2] === '/')) return true;
  if (isProduct(text, start, before) || isCoordinate(text, start, stop) || isNumbered(text, start, octets)) return false;
  if (endsAsAddress(text, stop)) return true;
  return saidIn(text, lineStart(text, start, lineReach), start) ?? saidByTable(text, start) ?? looksLikeAddress(octets);
}

const productSlash = /(?:^|[\s("'+;,]|%20|\\[nrt])[A-Za-z][\w.-]{0,30}(?:\/|%2F)$/i;
const addressSlash = /(?:ip|host|addr|tcp|udp)\/$/i;

/**
 * Returns whether the numbers are the version of a product: `Chrome/104.0.1.2`, `libfoo-1.2.3.4`, `==1.2.3.4`,
 * `^1.2.3.4`, `#1.2.3.4`.
 */
function isProduct(text: string, start: number, before: string): boolean {
  if (before === '/' || before === 'F' || before === 'f') {
    const token = text.slice(Math.max(0, start - 40), start);
    return productSlash.test(token) && !addressSlash.test(token);
  }
  return /[A-Za-z]-$|[=!~<>]=$|[\^~#§$]\s?$/.test(text.slice(Math.max(0, start - 2), start));
}

/**
 * Returns whether the numbers are a section of an RFC, or an object identifier of ISO: `RFC 5321, 4.5.3.1`,
 * `1.3.101.112`.
 */
const isNumbered = (text: string, start: number, [a = 0, b = 0, c = 0]: readonly number[]): boolean =>
  (a === 1 && b === 3 && (c === 6 || c === 101)) ||
  (a < 10 && b < 20 && /RFC ?\d{3,4}(?:,? (?:section |§ ?)?| ?§ ?)$/i.test(text.slice(Math.max(0, start - 20), start)));

/** Returns whether the numbers are part of a Maven coordinate: `group:name:jar:1.2.3.4:compile`. */
const isCoordinate = (text: string, start: number, stop: number): boolean =>
  text[start - 1] === ':' && /[a-z]/i.test(text.charAt(start - 2)) && /^(?:-[A-Z]|:[a-z])/.test(text.slice(stop, stop + 2));

// A port, the length of a network's prefix, or the text after an address in the log of a web server.
const afterAddress = /:\d{2,5}(?![\d:])|\/(?:[12]?\d|3[0-2])(?![\d/.])| - \S{1,24} \[\d/y;

function endsAsAddress(text: string, stop: number): boolean {
  afterAddress.lastIndex = stop;
  return afterAddress.test(text);
}

/** Returns whether the last known word announces an address. Null: there is no known word. */
function saidIn(text: string, from: number, to: number): boolean | null {
  const label = labels.lastIn(text, from, to);
  return label === null ? null : label.context === 'address';
}

/**
 * Returns whether the heading of the column announces an address, if the numbers are in a table. Null: there is no such
 * heading.
 */
function saidByTable(text: string, start: number): boolean | null {
  for (const cell of cellsAbove(text, start)) {
    const says = saidIn(text, cell.start, cell.end);
    if (says !== null) return says;
  }
  return null;
}

// Decides by the numbers alone. Versions begin with small numbers, and the second number of browser versions is 0.
function looksLikeAddress([a = 0, b = 0, c = 0, d = 0]: readonly number[]): boolean {
  if (a === 10) return b === 0 || b >= 20 || c >= 20 || d >= 20;
  if (a < 20 && b < 10 && c < 10) return false;
  if (a < 30 && b < 100 && c < 100 && d < 100) return a > 19 && [b, c, d].filter((octet) => octet >= 30).length >= 2;
  return !(b === 0 && a >= 60 && a <= 150);
}
