// Cards, bank accounts, telephone numbers and national ids: exactly what is found, and what only looks like one.
import { describe, expect, test } from 'vitest';
import type { Detector } from '../../../../sidecar/engine/redact/detector.ts';
import { iban } from '../../../../sidecar/engine/redact/detectors/numbers/iban.ts';
import { nationalId } from '../../../../sidecar/engine/redact/detectors/numbers/national-id.ts';
import { nationalIdColumn, phoneColumn } from '../../../../sidecar/engine/redact/detectors/numbers/number-columns.ts';
import { paymentCard } from '../../../../sidecar/engine/redact/detectors/numbers/payment-card.ts';
import { phone } from '../../../../sidecar/engine/redact/detectors/numbers/phone.ts';
import { createFinder, nothingKnown } from '../../../../sidecar/engine/redact/finder.ts';
import { createWork } from '../../../../sidecar/engine/redact/work.ts';

const finder = createFinder([paymentCard, iban, nationalId, phone, nationalIdColumn, phoneColumn]);
const found = (text: string): readonly string[] =>
  finder.find(text, 0, nothingKnown, createWork()).map(({ kind, start, end }) => `${kind} ${text.slice(start, end)}`);

const card = '4539578763621486';

describe('cards', () => {
  test.each([
    card,
    '4539 5787 6362 1486',
    '4539-5787-6362-1486',
    '4539.5787.6362.1486',
    '4539%205787%206362%201486',
    '3712-048159-36215',
    '6225 8812 3456 7802 113',
  ])('%s is found in any surroundings', (number) => {
    for (const [before, after] of [
      ['', ''],
      ['卡号', '，'],
      ['"', '"'],
      ['\\n', '\\n'],
      ['card%3D', '&x=1'],
      ['<b>', '</b>'],
      ['paid by ', ' exp 12/29'],
    ]) {
      const expected = isLuhnValid(number) ? [`payment_card ${number}`] : [];
      expect(found(`${before}${number}${after}`)).toEqual(expected);
    }
  });

  test('a wrong check digit, a published test number and a typed row are not found', () => {
    for (const other of [
      '4539578763621487',
      '4242424242424242',
      '4242 4242 4242 4242',
      '5555-5555-5555-4444',
      '0000 0000 0000 0000',
      '4444444444444448',
    ])
      expect(found(`card ${other}`)).toEqual([]);
  });

  test('the numbers of an order, a counter, a path or a fraction are not found', () => {
    for (const text of [
      `order no. ${card}`,
      `{"tracking":"${card}"}`,
      `id=${card}&x`,
      `注文番号:${card}`,
      `/items/${card}`,
      `#${card}`,
      `0.${card}`,
      `a${card}`,
      `tok_${card}`,
    ])
      expect(found(text)).toEqual([]);
  });

  test('lengths that barcodes and timestamps also have need a word', () => {
    expect(found('4006381333931')).toEqual([]);
    expect(found('ean 4006381333931')).toEqual([]);
    expect(found('4716349072154')).toEqual([]);
    expect(found('pan: 4716349072154')).toEqual(['payment_card 4716349072154']);
  });
});

describe('bank accounts', () => {
  test.each([
    'DE21700519950000007229',
    'DE21 7005 1995 0000 0072 29',
    'de21700519950000007229',
    'NO8330001234567',
    'MT31MALT01100000000000000000123',
    'GB98%20MIDL%200700%209312%203456%2078',
    'DE 21 7005 1995 0000 0072 29',
  ])('%s is found', (number) => {
    expect(found(`pay to ${number}, please`)).toEqual([`iban ${number}`]);
    expect(found(`振込先${number}です`)).toEqual([`iban ${number}`]);
  });

  test('a wrong check digit, a wrong length and an example of the standard are not found', () => {
    for (const other of [
      'DE22700519950000007229',
      'DE217005199500000072290',
      'xDE21700519950000007229',
      'DE89 3704 0044 0532 0130 00',
      'GB82 WEST 1234 5698 7654 32',
    ])
      expect(found(`account ${other}`)).toEqual([]);
  });
});

describe('telephone numbers', () => {
  test.each([
    '+1 (415) 762-2671',
    '+14157622671',
    '+49 (0)30 29708851',
    '%2B442079418763',
    '+7 916 476-29-82',
    '0049 30 29708851',
    '(415) 762-2671',
    '415-762-2671',
    '415.762.2671',
    '020 7941 8763',
    '07845 029588',
    '03-3751-4149',
    '06.82.45.17.90',
  ])('%s is found without a word', (number) => {
    for (const [before, after] of [
      ['', ''],
      ['"', '"'],
      ['联系', '。'],
      ['\\n', '\\n'],
      ['or ', ' now'],
      ['>', '<'],
    ])
      expect(found(`${before}${number}${after}`)).toEqual([`phone ${number}`]);
  });

  test.each(['13912345679', '4157622671', '612 45 87 90', '98659 72717', '0171/4822781', '8 (916) 476-29-82', '0612458790'])(
    '%s is found next to a word',
    (number) => {
      expect(found(number).filter((one) => one.includes(number) && !/^0|^8/.test(number))).toEqual([]);
      for (const word of ['phone: ', 'homePhone=', 'тел. ', '手机号', 'celular ', '"mobile_number":"', 'tel:'])
        expect(found(word + number)).toEqual([`phone ${number}`]);
    },
  );

  test('a list after a word is found whole, and so is a column below one', () => {
    expect(found('Tel.: 0171 4822781, 0171 4822799')).toEqual(['phone 0171 4822781', 'phone 0171 4822799']);
    expect(found('name,phone,n\nAnn,4157622671,1234567\nBob,4157622699,7654321\n')).toEqual(['phone 4157622671', 'phone 4157622699']);
  });

  test.each([
    'at 2024-06-14 09:30:12',
    '1684493125',
    'phone_verified_at: 1684493125',
    'phone: 20240614',
    'phone: 555-0123',
    'phone: 123-456-7890',
    'call (212) 555-0147',
    'mobile 116.0.5342.86',
    'dial tcp 10.0.12.34:5432',
    'hotel 7622671',
    'order 415-762-2671',
    '+20240614',
    'a+4930297088',
    'T10:00:00+0300',
    '03 18 24 31 42',
    '1,234,567,890',
    '-122.4194155, 37.7749295',
    '12345678-415-762-2671',
  ])('nothing is found in %s', (text) => {
    expect(found(text)).toEqual([]);
  });
});

describe('national ids', () => {
  test.each([
    ['441-68-8819', 'US'],
    ['529.982.247-25', 'Brazil'],
    ['11.222.333/0001-81', 'Brazil, companies'],
    ['756.9217.0769.85', 'Switzerland'],
    ['RSSMRA85T10A562S', 'Italy'],
    ['11010519491231002X', 'China'],
    ['880212-1234561', 'Korea'],
    ['8112189876', ''],
    ['811218-9876', 'Sweden'],
    ['131052-308T', 'Finland'],
    ['93.05.18-223.61', 'Belgium'],
    ['20-17254359-7', 'Argentina'],
    ['2 55 08 14 168 025 38', 'France'],
    ['S8116474F', 'Singapore'],
    ['X2482300W', 'Spain'],
  ])('%s is found without a word (%s)', (number, country) => {
    for (const [before, after] of [
      ['', ''],
      ['"', '"'],
      ['证', '。'],
      ['\\n', '\\n'],
      ['a ', ' b'],
    ])
      expect(found(`${before}${number}${after}`)).toEqual(country === '' ? [] : [`national_id ${number}`]);
  });

  test.each([
    ['44051401359', 'PESEL'],
    ['111222333', 'bsn'],
    ['12345678Z', ''],
    ['54362315K', 'DNI'],
    ['123 456 782', 'TFN'],
    ['2340 1234 5670', ''],
    ['8112189876', 'personnummer'],
    ['1234567FA', 'PPS'],
  ])('%s is found only next to a word (%s)', (number, word) => {
    expect(found(number)).toEqual([]);
    expect(found(`${word}: ${number}`)).toEqual(word === '' ? [] : [`national_id ${number}`]);
  });

  test('a word distinguishes a national id from a telephone number', () => {
    expect(found('NHS number: 943 476 5919')).toEqual(['national_id 943 476 5919']);
  });

  test('a column below a word is found', () => {
    expect(found('id;pesel;city\n1;44051401359;Gdynia\n')).toEqual(['national_id 44051401359']);
  });

  test.each([
    '078-05-1120',
    '123-45-6789',
    '000-12-3456',
    '111.111.111-11',
    'order 441-68-8819',
    '2024-441-68-8819',
    'AB123456C',
    'ssn: 000-00-0000',
    'X1234567L-9',
    '44051401358',
  ])('%s is not found', (text) => {
    expect(found(text)).toEqual([]);
  });
});

test('what is found depends on nothing outside the reach, so the time for a text is linear in its length', () => {
  const units = [
    '12 ',
    '1234 ',
    `${card} `,
    '4539 5787 6362 1486 ',
    '(0',
    '(030) ',
    '+1',
    '+1 (415) 762-2671 ',
    'DE21 7005 1995 0000 0072 29 ',
    'DE05',
    'pesel 44051401359 ',
    'tel 030 2970 8851 ',
    '%20',
    '%2B44%2020',
    '2 55 08 14 168 025 38 ',
  ];
  for (const detector of [paymentCard, iban, nationalId, phone]) {
    for (const unit of units) {
      const text = unit.repeat(Math.ceil(2_000 / unit.length));
      for (const { index, 0: run } of text.matchAll(/\d+/g)) {
        const from = Math.max(0, index - detector.reach.before);
        const window = text.slice(from, index + detector.reach.after);
        const near = spansAt(detector, window, index - from, run.length).map(([start, end]) => [start + from, end + from]);
        expect(near, `${detector.kind} in ${unit}`).toEqual(spansAt(detector, text, index, run.length));
      }
    }
  }
});

function spansAt(detector: Detector, text: string, at: number, length: number): readonly (readonly [number, number])[] {
  const spans: (readonly [number, number])[] = [];
  detector.find(text, at, at + length, (start, end) => spans.push([start, end]));
  return spans;
}

function isLuhnValid(written: string): boolean {
  const digits = written.replaceAll('%20', '').replaceAll(/\D/g, '');
  let sum = 0;
  for (let at = 1; at <= digits.length; at++) {
    const value = Number(digits.at(-at)) * (at % 2 === 0 ? 2 : 1);
    sum += value > 9 ? value - 9 : value;
  }
  return sum % 10 === 0;
}

describe('digits of other scripts and full-width digits', () => {
  test.each([
    ['phone', 'الجوال ', '٠٥٠ ١٢٨ ٤٥٩٧'],
    ['phone', 'मोबाइल ', '९८६५१ ७२७१४'],
    ['phone', 'موبایل ', '۰۹۱۲ ۶۷۷ ۳۰۱۰'],
    ['phone', 'ＴＥＬ：', '０３－３７５１－４１４９'],
    ['payment_card', '', '٤٥٣٩ ٥٧٨٧ ٦٣٦٢ ١٤٨٦'],
    ['iban', '口座：', 'ＤＥ２１７００５１９９５００００００７２２９'],
  ])('%s after %j is found as it is written', (kind, before, number) => {
    expect(found(`${before}${number}。`)).toEqual([`${kind} ${number}`]);
  });
});

describe('separators as markup writes them', () => {
  test.each([
    ['payment_card', '4539&nbsp;5787&nbsp;6362&nbsp;1486'],
    ['phone', '+49&nbsp;30&#8209;29708851'],
    ['iban', 'DE21&nbsp;7005&nbsp;1995&nbsp;0000&nbsp;0072&nbsp;29'],
    ['national_id', '536&#8209;45&#8209;7819'],
  ])('%s %s is found whole', (kind, number) => {
    expect(found(`<td>${number}</td>`)).toEqual([`${kind} ${number}`]);
  });
});

test('a word in the head of a table applies only to its own column', () => {
  expect(found(`txn;card\n7;${card}\n`)).toEqual([`payment_card ${card}`]);
  expect(found(`txn_id  AMOUNT\nKIOSK 14  ${card}\n`)).toEqual([]);
  expect(found(`shop,order_id,qty\nnorth,${card},2\n`)).toEqual([]);
});

test('bytes of a dump in groups of four are not a card', () => {
  expect(found('00000000: 4539 5787 6362 1486 0a41 4243')).toEqual([]);
  expect(found('9f2c 4539 5787 6362 1486')).toEqual([]);
  expect(found('it is 4539 5787 6362 1486 dead sure')).toEqual(['payment_card 4539 5787 6362 1486']);
});

test('numbers of Brazil and Russia are found in their national form, and so is an older one of Mexico', () => {
  expect(found('(21) 96610-0688')).toEqual(['phone (21) 96610-0688']);
  expect(found('8 (916) 478–57–88')).toEqual(['phone 8 (916) 478–57–88']);
  expect(found('+52 1 55 4887 4122')).toEqual(['phone +52 1 55 4887 4122']);
  expect(found('2 (916) 478-57-88')).toEqual([]);
});

test('pairs of digits next to a word are a number of Norway or Denmark, if they can be', () => {
  expect(found('tlf. 91 47 63 82')).toEqual(['phone 91 47 63 82']);
  expect(found('tlf. 11 12 10 03')).toEqual([]);
});

test('two zeros and a whole number are a telephone number only next to a word', () => {
  expect(found('<tel:0048601566965>')).toEqual(['phone 0048601566965']);
  expect(found('lot 0048601566965')).toEqual([]);
});

test('a number without check digits needs its own word, not only a word for such numbers', () => {
  expect(found('my NIN is 35398711734')).toEqual(['national_id 35398711734']);
  expect(found('id number 35398711734')).toEqual([]);
  expect(found('nine 35398711734')).toEqual([]);
});

test.each([
  ['Steuernummer 93815/08152', '93815/08152'],
  ['RG: 24.678.131-4', '24.678.131-4'],
])('%s is found', (text, number) => {
  expect(found(text)).toEqual([`national_id ${number}`]);
  expect(found(`document ${number}`)).toEqual([]);
});

test('a date next to a word for people is not found', () => {
  expect(found('ID number 4471, born 19850615 or 15061985')).toEqual([]);
});

test('all relevant columns of a header are followed to the end of the table, and the next header starts again', () => {
  const row = (at: number): string => `Ann,41576226${at},07845 0295${at},${'x'.repeat(200)}\n`;
  const rows = Array.from({ length: 40 }, (_, at) => row(at + 10));
  expect(found(`name,phone,mobile,note\n${rows.join('')}`)).toHaveLength(80);
  expect(found('n,phone\nAnn,4157622671\nphone,n\n4157622699,3\n')).toEqual(['phone 4157622671', 'phone 4157622699']);
});
