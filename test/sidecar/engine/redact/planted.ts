// A value of every built-in kind, in a text that reveals it, and texts without any value: the parts of generated
// payloads. A bar breaks values that scanners of code hosts would report as real, and is removed before use.
import type { RedactionKind } from '@tollgate/proto/contract';

export interface PlantedValue {
  readonly kind: RedactionKind;
  readonly text: string;
  /** The text that must not be left. */
  readonly value: string;
}

const jwt = 'ey¦JhbGciOiJIUzI1NiJ9.ey¦JzdWIiOiJ1XzkxNDQyIiwiZXhwIjoxNzcxMjN9.q8Zr1vXk0TgW3hLs9dNcYb5mEjPu7fAoRi2x4wKtHyQ';

const rows: readonly (readonly [RedactionKind, string, string])[] = [
  ['cloud_key', 'the id is *', 'AK¦IAQ7RZLKD2WVMN3TXB'],
  ['code_hosting_token', 'git uses * there', 'gh¦p_R7mWq2ZkX9vLs4TnB8cYd1HfJ6gPa3UeKo5i'],
  ['payment_key', 'charged by * today', 'sk¦_live_51Nq7TzLkR2vXw9HmYc4BdJf8'],
  ['messaging_token', 'posts with * there', 'xo¦xb-482910377164-5930271846612-Qm7zRk2VwXt9LsB4nHcYd8Jf'],
  ['registry_token', 'publishes by * now', 'np¦m_Z4kR9vXw2LmTq7HsYc1BdJf8PgNa5UeKo3Qy'],
  [
    'model_key',
    'answers by * now',
    'sk¦-ant-api03-kQ7z2mXw9vRt4LsB8nHcYd1JfGp6Ua3eKo5iZqTxWyNbVrMhDcFjSgEuPlAtOk2mXw9vRt4LsB8nHcYd1JfGp6Ua3eKo5i-Q7z2mXw9AA',
  ],
  ['service_token', 'graphs come by * now', 'gl¦sa_k7Qz2mXw9vRt4LsB8nHcYd1JfGp6Ua3e_4f9c1b7e'],
  ['tollgate_key', 'agents send * with it', 'gsk¦_orchard_k7Qz2mXw9vRt4LsB8nHcYd1JfGp6Ua3e'],
  ['authorization', 'curl -H "Authorization: Bearer *" then', 'k7Qz2mXw9vRt4LsB8nHcYd1JfGp6'],
  [
    'private_key',
    '-----BEGIN PRI¦VATE KEY-----\\n*\\n-----END PRI¦VATE KEY-----'.replaceAll('¦', ''),
    'MC4CAQAwBQYDK2VwBCIEIKVNyhglMLsdbRMs3tYjey7ZHj9yH8sZcRdElNZJPJ1c',
  ],
  ['national_id', 'his SSN is * they say', '512-48-7391'],
  ['jwt', 'the session is * now', jwt],
  ['url_credentials', 'see postgres://crm:*@db.fjallmark.se/crm then', 'Zq7-mWk2vXr9'],
  ['password', 'password=*', 'Zw3-Rauhreif+71'],
  ['secret', 'CLIENT_SECRET=*', 'k7Qz2mXw9vRt4LsB8nHcYd1J'],
  ['email', 'write to * today', 'ola.lindqvist@fjallmark.se'],
  ['ip_address', 'it came from * at night', '84.176.104.16'],
  ['ip_address', 'it came from * at night', '2a02:7cfb:8706::b82d'],
  ['mac_address', 'the tablet * joined', 'dc:a6:32:6a:45:69'],
  ['crypto_address', 'pay to * please', '1Jes1CvZMmJsj1SFnX7TMW7oG5BY6EMi3o'],
  ['crypto_address', 'pay to * please', '0x728e9db5df237f846b3d5db5d31b6a84cb08ace4'],
  ['iban', 'transfer to * please', 'DE29370400440917263548'],
  ['payment_card', 'card * was used', '4539 5781 2204 6938'],
  ['phone', 'call * before noon', '+49 30 90182746'],
];

export const planted: readonly PlantedValue[] = rows.map(([kind, around, barred]) => {
  const value = barred.replaceAll('¦', '');
  return { kind, value, text: around.replace('*', value) };
});

export const harmless = [
  'the parcel waits at the gate',
  'rev 14, see the notes of Tuesday',
  'Zwölf Kisten, drei davon nass',
  '合同已经寄出',
  'const total = items.length',
  '8c2f1c3e-6d0f-4f5e-9b57-2f0c8c6b7a11',
  '2025-11-19T07:29:11.656Z',
  '#a4bb6d',
  '',
] as const;

export const harmlessNames = ['note', 'title', 'items', 'city', 'ΔT', 'x-y', 'a b', ''] as const;
