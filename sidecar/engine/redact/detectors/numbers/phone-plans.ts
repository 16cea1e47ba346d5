// Provides the numbering plans of all countries, from the metadata of Google's libphonenumber. They are kept as
// patterns, because checking one number with the library takes as long as reading a page of text.
import metadata from 'libphonenumber-js/max/metadata';
import { LRUCache } from 'lru-cache';

/** One format in which a country writes its numbers: the number of digits in each group, after the trunk prefix. */
interface Format {
  readonly pattern: RegExp;
  readonly leading: RegExp | null;
}

interface Plan {
  readonly trunk: string;
  readonly valid: RegExp;
  readonly formats: readonly Format[];
}

// The positions of the values in the library's compact metadata.
const at = { pattern: 2, formats: 4, trunk: 5, types: 11 } as const;

const asText = (value: unknown): string => (typeof value === 'string' ? value : '');
const asList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

function planFrom(country: unknown): Plan {
  const fields = asList(country);
  // One pattern for each type of number: fixed, mobile, free of charge …
  const types = asList(fields[at.types]).flatMap((type) => asText(asList(type)[0]) || []);
  const patterns = types.length > 0 ? types : [asText(fields[at.pattern])];
  return {
    trunk: asText(fields[at.trunk]),
    valid: new RegExp(`^(?:${patterns.join('|')})$`),
    formats: asList(fields[at.formats]).map(formatFrom),
  };
}

function formatFrom(format: unknown): Format {
  const [pattern, , leading] = asList(format);
  const last = asList(leading).at(-1);
  return { pattern: new RegExp(`^(?:${asText(pattern)})$`), leading: typeof last === 'string' ? new RegExp(`^(?:${last})`) : null };
}

/** The plans by calling code. They are built when the first number is examined. */
let made: ReadonlyMap<string, readonly Plan[]> | null = null;

function plans(): ReadonlyMap<string, readonly Plan[]> {
  if (made !== null) return made;
  const byCode = new Map<string, readonly Plan[]>();
  // The library lists the country with most numbers of a calling code first.
  for (const [code, countries] of Object.entries(metadata.country_calling_codes))
    byCode.set(
      code,
      countries.map((country) => planFrom(metadata.countries[country])),
    );
  for (const [code, plan] of Object.entries(metadata.nonGeographic)) byCode.set(code, [planFrom(plan)]);
  made = byCode;
  return byCode;
}

/** Returns whether the digits are a valid number that begins with a country's calling code. */
export function isInternational(digits: string): boolean {
  for (let length = 1; length <= 3; length++) {
    const found = plans().get(digits.slice(0, length));
    if (found !== undefined) return found.some(({ valid }) => valid.test(digits.slice(length)));
  }
  return false;
}

/** Returns whether ten digits are a number of North America, in an area code that has numbers. */
export const isNorthAmerican = (digits: string): boolean =>
  plans()
    .get('1')
    ?.some(({ valid }) => valid.test(digits)) === true;

// The calling codes of countries whose numbers are written with a leading 0 and in groups that few other numbers have.
const trunkCodes = [
  '44',
  '49',
  '33',
  '43',
  '41',
  '31',
  '32',
  '46',
  '61',
  '64',
  '81',
  '82',
  '27',
  '972',
  '90',
  '886',
  '66',
  '60',
  '84',
  '62',
  '63',
  '20',
  '234',
  '254',
  '353',
  '40',
  '359',
];
// The formats for each shape. Looking up a shape takes some 30 µs, but payloads contain few shapes. A caller that sends
// thousands of shapes slows down only its own calls.
const formatsByShape = new LRUCache<string, readonly (readonly [Plan, Format])[]>({ max: 500 });

/** Returns whether some country writes these digits, which begin with 0, in these groups. */
export function isWrittenAsAtHome(digits: string, shape: readonly number[]): boolean {
  const national = digits.slice(1);
  return formatsOf([(shape[0] ?? 0) - 1, ...shape.slice(1)]).some(
    ([plan, { leading }]) => (leading === null || leading.test(national)) && plan.valid.test(national),
  );
}

function formatsOf(shape: readonly number[]): readonly (readonly [Plan, Format])[] {
  const key = shape.join('-');
  const known = formatsByShape.get(key);
  if (known !== undefined) return known;
  const sample = shape.map((length) => '5'.repeat(length)).join('');
  const found = trunkCodes
    .flatMap((code) => plans().get(code) ?? [])
    .filter(({ trunk }) => trunk === '0')
    .flatMap((plan) =>
      plan.formats.filter(({ pattern }) => sameShape(pattern.exec(sample), shape)).map((format) => [plan, format] as const),
    );
  formatsByShape.set(key, found);
  return found;
}

const sameShape = (match: RegExpExecArray | null, shape: readonly number[]): boolean =>
  match !== null && match.length - 1 === shape.length && shape.every((length, group) => match[group + 1]?.length === length);
