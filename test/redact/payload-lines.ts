// Writes the lines of large payloads, one function for each kind of payload. A line is a list of pieces: those at odd
// places must be replaced, the others must stay.
import type { Random } from '../chaos/kills/random.ts';
import { digits, hex, type Values } from './payload-values.ts';

export type Line = readonly string[];

interface LineSource {
  readonly random: Random;
  readonly values: Values;
}

interface LineMaker {
  /** The first line, for payloads that have column names. */
  readonly head?: string;
  /** Each line is the JSON of an item. */
  readonly isJson?: true;
  /** A line with something to replace. Absent: the payload is harmless. */
  readonly secret?: (source: LineSource, at: number) => Line;
  readonly harmless: (source: LineSource, at: number) => Line;
}

const paths = ['/', '/basket', '/static/app.css', '/api/v2/items', '/help/returns', '/search?q=lamp'] as const;
const agents = ['Mozilla/5.0 (X11; Linux x86_64) Chrome/131.0.0.0 Safari/537.36', 'curl/8.9.1', 'depot-probe/2.4 (linux; amd64)'] as const;
const words = [
  'the',
  'lift',
  'door',
  'shift',
  'lamp',
  'counted',
  'moved',
  'before',
  'noon',
  'shelf',
  'quiet',
  'again',
  'four',
  'boxes',
] as const;
const sentence = (random: Random, length: number): string => Array.from({ length }, () => random.pick(words)).join(' ');
const two = (value: number): string => String(value).padStart(2, '0');
const timeAt = (at: number): string => `2026-03-${two(1 + (at % 28))}T${two(at % 24)}:${two((at * 7) % 60)}:${two((at * 13) % 60)}Z`;
const request = ({ random }: LineSource, at: number): string =>
  ` - - [${timeAt(at)}] "GET ${random.pick(paths)} HTTP/1.1" 200 ${random.whole(120, 90_000)} "-" "${random.pick(agents)}"`;
const frame = ({ random }: LineSource): string =>
  `\tat eu.kestrel.${random.pick(words)}.Handler.${random.pick(['apply', 'run', 'handle'])}(Handler.java:${random.whole(12, 940)})`;
const order = ({ random }: LineSource, at: number): string =>
  `${4_410_000 + at},LMP-${random.whole(100, 999)},${random.whole(1, 40)},${random.whole(1, 900)}.${two(random.whole(0, 99))},${timeAt(at)}`;

const makers = {
  access_log: {
    secret: (source, at) => ['', source.values('ipv4'), request(source, at)],
    harmless: (source, at) => [`-${request(source, at)}`],
  },
  auth_log: {
    secret: ({ random, values }, at) => [
      `${timeAt(at)} edge-3 sshd[${random.whole(400, 32_000)}]: Connection closed by `,
      values('ipv4'),
      ` port ${random.whole(1_025, 65_000)} [preauth]`,
    ],
    harmless: ({ random }, at) => [`${timeAt(at)} edge-3 cron[${random.whole(400, 32_000)}]: (root) CMD (run-parts /etc/cron.hourly)`],
  },
  flow_log: {
    secret: ({ random, values }, at) => [`${timeAt(at)} ACCEPT tcp `, values('ipv6'), ` ${random.whole(1_025, 65_000)} -> ::1 8443`],
    harmless: ({ random }, at) => [`${timeAt(at)} IDLE tcp - - bytes=${random.whole(40, 90_000)}`],
  },
  customers_csv: {
    head: 'customer,email,phone,tier,since',
    secret: ({ random, values }, at) => [
      `${10_000 + at},`,
      values('email'),
      ',',
      values('phone'),
      `,${random.pick(['basic', 'gold'])},2024-0${1 + (at % 9)}-11`,
    ],
    harmless: ({ random }, at) => [`${10_000 + at},,,${random.pick(['basic', 'gold'])},2024-0${1 + (at % 9)}-11`],
  },
  json_events: {
    secret: ({ random, values }, at) => [
      `{"at":"${timeAt(at)}","event":"login","user":"`,
      values('email'),
      '","ip":"',
      values('ipv4'),
      `","ms":${random.whole(1, 900)}}`,
    ],
    harmless: ({ random }, at) => [`{"at":"${timeAt(at)}","event":"tick","queue":${random.whole(0, 90)},"ms":${random.whole(1, 900)}}`],
  },
  api_objects: {
    isJson: true,
    secret: ({ random, values }, at) => [
      `{"email":"`,
      values('email'),
      `","id":${4_410 + at},"phone":"`,
      values('phone'),
      `","plan":"${random.pick(['basic', 'gold'])}","seen":"${timeAt(at)}"}`,
    ],
    harmless: ({ random }, at) => [`{"email":null,"id":${4_410 + at},"phone":null,"plan":"${random.pick(['basic', 'gold'])}"}`],
  },
  mail_archive: {
    secret: ({ random, values }, at) =>
      at % 2 === 0 ? ['From: <', values('email'), '>'] : [`${sentence(random, 7)}, write to `, values('email'), ' for more.'],
    harmless: ({ random }) => [sentence(random, random.whole(6, 14))],
  },
  stack_traces: {
    secret: ({ random, values }) => [
      `java.sql.SQLException: no route to jdbc:postgresql://importer:`,
      values('password').replace('#', '_'),
      `@pg-${random.whole(1, 9)}:5432/shop`,
    ],
    harmless: (source) => [frame(source)],
  },
  password_lines: {
    secret: ({ random, values }, at) => [`host=edge-${at} user=svc-${random.pick(words)} password=`, values('password'), ''],
    harmless: ({ random }, at) => [`host=edge-${at} user=svc-${random.pick(words)} port=${random.whole(1_025, 9_999)}`],
  },
  environment: {
    secret: ({ random, values }, at) => [`${random.pick(['RELAY', 'DEPOT', 'MAIL'])}_${at}_API_KEY=`, values('token'), ''],
    harmless: ({ random }, at) => [`${random.pick(['RELAY', 'DEPOT', 'MAIL'])}_${at}_PORT=${random.whole(1_025, 9_999)}`],
  },
  card_batch: {
    head: 'line;card;expires;amount',
    secret: ({ random, values }, at) => [`${at};`, values('card'), `;11/28;${random.whole(1, 400)}.00`],
    harmless: ({ random }, at) => [`${at};cash;;${random.whole(1, 400)}.00`],
  },
  ledger: {
    head: 'entry;iban;amount;text',
    secret: ({ random, values }, at) => [`${at};`, values('iban'), `;${random.whole(1, 9_000)}.00;${sentence(random, 4)}`],
    harmless: ({ random }, at) => [`${at};;${random.whole(1, 9_000)}.00;${sentence(random, 4)}`],
  },
  sql_dump: {
    secret: ({ values }, at) => [`INSERT INTO accounts (id, email, created) VALUES (${at}, '`, values('email'), `', '${timeAt(at)}');`],
    harmless: ({ random }, at) => [
      `INSERT INTO shelves (id, label, boxes) VALUES (${at}, '${random.pick(words)}', ${random.whole(1, 90)});`,
    ],
  },
  chat_log: {
    secret: ({ random, values }, at) => [
      `[${two(at % 24)}:${two(at % 60)}] desk: ${sentence(random, 5)}, call `,
      values('phone'),
      ' please',
    ],
    harmless: ({ random }, at) => [`[${two(at % 24)}:${two(at % 60)}] desk: ${sentence(random, 9)}`],
  },
  request_dump: {
    secret: ({ values }, at) => [`> [${at}] Authorization: Bearer `, values('token'), ''],
    harmless: ({ random }, at) => [`> [${at}] Accept-Language: et, lv;q=0.${random.whole(1, 9)}`],
  },
  payroll: {
    head: 'no,ssn,hours,rate',
    secret: ({ random, values }, at) => [`${at},`, values('ssn'), `,${random.whole(1, 40)},31.75`],
    harmless: ({ random }, at) => [`${at},,${random.whole(1, 40)},31.75`],
  },
  build_log: {
    harmless: ({ random }, at) => [
      `#${at % 40} sha256:${hex(random, 64)} ${random.whole(1, 90)}.${random.whole(0, 9)}MB / 91.2MB done, @kestrel/${random.pick(words)}@${random.whole(0, 19)}.${random.whole(0, 40)}.${random.whole(0, 9)}`,
    ],
  },
  metrics: {
    harmless: ({ random }, at) => [
      `http_request_duration_seconds_bucket{path="${random.pick(paths)}",le="0.${random.whole(1, 99)}",pod="edge-${at % 40}"} ${random.whole(0, 90_000)}`,
    ],
  },
  prose: { harmless: ({ random }) => [`${sentence(random, random.whole(8, 22))}.`] },
  source_code: {
    harmless: ({ random }, at) => [
      random.pick([
        `  const token${at} = parser.next(kinds.${random.pick(words)}); // the token before the password field`,
        `  if (session.${random.pick(words)}.isOpen) return { key: cacheKeyFor(row), value: row.${random.pick(words)} };`,
        `  password = (char *) realloc(buffer, ${random.whole(1, 900)} + sizeof(header));`,
        `export const primary_key_${at} = 'order_${random.pick(words)}';`,
      ]),
    ],
  },
  coordinates: {
    head: 'id,lat,lon,height',
    harmless: ({ random }, at) => [`${at},58.${digits(random, 6)},26.${digits(random, 6)},${random.whole(0, 300)}`],
  },
  orders: { head: 'order,sku,count,price,at', harmless: (source, at) => [order(source, at)] },
  translations: {
    isJson: true,
    harmless: ({ random }, at) => [`{"id":"screen.${at}.password_hint","text":"${sentence(random, random.whole(3, 9))}"}`],
  },
  hex_dump: {
    harmless: ({ random }, at) => [
      `${(at * 16).toString(16).padStart(8, '0')}  ${hex(random, 32).replaceAll(/(..)/g, '$1 ').trim()}  |................|`,
    ],
  },
  history: {
    harmless: ({ random }) => [`${hex(random, 40)} ${random.pick(['fix', 'docs', 'test'])}: ${sentence(random, random.whole(3, 8))}`],
  },
} as const satisfies Readonly<Record<string, LineMaker>>;

export type LineKind = keyof typeof makers;
export const lineMakers: Readonly<Record<LineKind, LineMaker>> = makers;
