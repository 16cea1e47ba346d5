// Sends the log lines of pino as log records, in addition to standard error. A record contains what its line contains
// and no more: what must not be logged is removed before.
import type { AnyValueMap, Logger, LogRecord } from '@opentelemetry/api-logs';
import { SeverityNumber } from '@opentelemetry/api-logs';

/** The stream that pino writes to. */
export interface LogStream {
  write(line: string): void;
}

export const teeLogs = (stderr: LogStream, logger: Pick<Logger, 'emit'>): LogStream => ({
  write: (line) => {
    stderr.write(line);
    logger.emit(recordOf(line));
  },
});

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

// Fields that describe the process. The resource already contains them.
const ofResource = new Set(['pid', 'hostname']);

/**
 * Returns the log record for a line. The trace of the current span is not set here: the logger reads it from the active
 * context.
 */
export function recordOf(line: string): LogRecord {
  const fields = parsed(line);
  if (fields === null) return { severityNumber: SeverityNumber.INFO, severityText: 'INFO', body: line.trimEnd() };
  const { level, time, msg, err, ...others } = fields;
  const attributes = Object.fromEntries(Object.entries(others).filter(([name]) => !ofResource.has(name))) as AnyValueMap;
  return {
    ...severityOf(level),
    ...(typeof time === 'number' ? { timestamp: time } : {}),
    body: typeof msg === 'string' ? msg : '',
    attributes: { ...attributes, ...(isFields(err) ? exceptionOf(err) : {}) },
  };
}

function parsed(line: string): Fields | null {
  try {
    const value: unknown = JSON.parse(line);
    return isFields(value) ? value : null;
  } catch {
    return null;
  }
}

/** Returns the OpenTelemetry severity for a level number of pino. */
function severityOf(level: unknown): Pick<LogRecord, 'severityNumber' | 'severityText'> {
  const [, severityNumber, severityText] = severities.find(([least]) => Number(level) >= least) ?? severities[3];
  return { severityNumber, severityText };
}

const severities = [
  [60, SeverityNumber.FATAL, 'FATAL'],
  [50, SeverityNumber.ERROR, 'ERROR'],
  [40, SeverityNumber.WARN, 'WARN'],
  [30, SeverityNumber.INFO, 'INFO'],
  [20, SeverityNumber.DEBUG, 'DEBUG'],
  [10, SeverityNumber.TRACE, 'TRACE'],
] as const;

function exceptionOf({ type, message, stack, code, cause }: Fields): AnyValueMap {
  const texts = { 'exception.type': type, 'exception.message': message, 'exception.stacktrace': stack, 'exception.code': code };
  const told = Object.entries(texts).flatMap(([name, value]) =>
    typeof value === 'string' || typeof value === 'number' ? [[name, value] as const] : [],
  );
  return { ...Object.fromEntries(told), ...(isFields(cause) ? { 'exception.cause': cause as AnyValueMap } : {}) };
}
