// Encodes parts of a record in the JSON encoding of OTLP. Pure.

/** Null and undefined values are left out. */
export type Attributes = Readonly<Record<string, string | number | boolean | null | undefined>>;

export function attributesText(attributes: Attributes): string {
  const shown = Object.entries(attributes).flatMap(([key, value]) => {
    const written = value === undefined || value === null ? null : valueText(value);
    return written === null ? [] : [`{"key":"${key}","value":${written}}`];
  });
  return `[${shown.join(',')}]`;
}

function valueText(value: string | number | boolean): string | null {
  if (typeof value === 'string') return `{"stringValue":${JSON.stringify(value)}}`;
  if (typeof value === 'boolean') return `{"boolValue":${value}}`;
  if (Number.isSafeInteger(value)) return `{"intValue":"${value}"}`;
  return Number.isFinite(value) ? `{"doubleValue":${value}}` : null;
}

export const nanosOf = (instant: string): string => {
  const ms = Date.parse(instant);
  return Number.isFinite(ms) && ms > 0 ? `${ms}000000` : '0';
};

/** The trace of the call, if the entry contains it. */
export function traceText({ traceId, spanId }: Readonly<Record<string, unknown>>): string {
  const isId = (value: unknown, digits: number): value is string =>
    typeof value === 'string' && value.length === digits && /^[0-9a-f]+$/.test(value) && !/^0+$/.test(value);
  if (!isId(traceId, 32)) return '';
  return `,"traceId":"${traceId}"${isId(spanId, 16) ? `,"spanId":"${spanId}"` : ''}`;
}
