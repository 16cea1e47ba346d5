// The environment variables of the control plane: types, defaults, checks and README's table in one schema.
import { type ConfigOf, choice, integer, isSlug, parseKey, text } from '@tollgate/proto/contract';
import { checkEmail } from './domain/member.ts';

const port = (name: string, describe: string, fallback: number) => integer({ name, describe, fallback, min: 0, max: 65_535 });

export const configSchema = {
  host: text({ name: 'TOLLGATE_HOST', describe: 'where it listens', fallback: '127.0.0.1' }),
  port: port('TOLLGATE_PORT', 'port of REST', 8080),
  grpcPort: port('TOLLGATE_GRPC_PORT', 'port of gRPC, for sidecars', 8081),
  allowPlaintext: choice({
    name: 'TOLLGATE_ALLOW_PLAINTEXT',
    describe: 'listen without TLS beyond loopback',
    fallback: 'false',
    choices: ['true', 'false'],
  }),
  databaseUrl: text({
    name: 'DATABASE_URL',
    describe: 'PostgreSQL 15 or later; absent: an embedded one',
    fallback: null,
    // It may hold a password.
    secret: true,
    check: (value) => (/^postgres(?:ql)?:\/\//.test(value) ? null : 'must begin with postgres://'),
  }),
  dataDir: text({ name: 'TOLLGATE_DATA_DIR', describe: 'folder of the embedded PostgreSQL', fallback: './.tollgate' }),
  workspace: text({
    name: 'TOLLGATE_WORKSPACE',
    describe: 'slug of the first workspace',
    fallback: 'default',
    check: (value) => (isSlug(value) ? null : 'must be 1 to 40 of a-z 0-9 and -, neither first nor last, and no reserved word'),
  }),
  ownerEmail: text({
    name: 'TOLLGATE_OWNER_EMAIL',
    describe: "e-mail of the first workspace's owner",
    fallback: 'owner@localhost',
    check: (value) => checkEmail(value)[0]?.message ?? null,
  }),
  ownerKey: text({
    name: 'TOLLGATE_OWNER_KEY',
    describe: "the first owner's key; absent: one is made and printed once",
    fallback: null,
    secret: true,
    check: (value) => (parseKey(value) === null ? 'must be a key: gsk_<workspace>_ and 32 to 64 letters and digits' : null),
  }),
  operatorKey: text({
    name: 'TOLLGATE_OPERATOR_KEY',
    describe: 'who has it may make and remove workspaces; absent: nobody',
    fallback: null,
    secret: true,
    check: (value) => (/^[\x21-\x7e]{32,}$/.test(value) ? null : 'must be at least 32 printable characters without blanks'),
  }),
  defaultPermission: choice({
    name: 'TOLLGATE_DEFAULT_PERMISSION',
    describe: 'what holds where no policy says anything',
    fallback: 'allow',
    choices: ['allow', 'deny'],
  }),
  windowSeconds: integer({
    name: 'TOLLGATE_RATE_WINDOW_SECONDS',
    describe: 'length of the window of `rateLimit`',
    fallback: 60,
    min: 1,
    max: 86_400,
  }),
  patchPerMinute: integer({
    name: 'TOLLGATE_PATCH_PER_MINUTE',
    describe: 'PATCH requests a minute for each key',
    fallback: 30,
    min: 1,
    max: 100_000,
  }),
  auditRetentionDays: integer({
    name: 'TOLLGATE_AUDIT_RETENTION_DAYS',
    describe: 'how long audit entries are kept',
    fallback: 90,
    min: 1,
    max: 36_500,
  }),
  logLevel: choice({
    name: 'TOLLGATE_LOG_LEVEL',
    describe: 'least level of log lines',
    fallback: 'info',
    choices: ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
  }),
};

export type Config = ConfigOf<typeof configSchema>;
