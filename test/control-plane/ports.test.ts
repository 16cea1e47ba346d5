// A port that another program uses: the start ends with 2 and names the variable that would resolve it.
import { createServer } from 'node:net';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { runControlPlane } from '../../control-plane/app/main.ts';
import { createTestDatabase } from '../support/database.ts';

afterEach(() => vi.restoreAllMocks());

async function takePort(): Promise<string> {
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  onTestFinished(() => void server.close());
  const address = server.address();
  return String(typeof address === 'object' && address !== null ? address.port : '');
}

test.each(['TOLLGATE_PORT', 'TOLLGATE_GRPC_PORT'])('%s in use is reported with the same text, with 2', async (variable) => {
  const database = await createTestDatabase();
  onTestFinished(() => database.close());
  let said = '';
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    said += String(text);
    return true;
  });
  vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  const port = await takePort();
  const { user, password, host, port: at, database: name } = database.connection;
  const url = `postgres://${String(user)}:${encodeURIComponent(String(password ?? ''))}@/${String(name)}?host=${encodeURIComponent(String(host))}&port=${String(at)}`;
  const env = { DATABASE_URL: url, TOLLGATE_PORT: '0', TOLLGATE_GRPC_PORT: '0', TOLLGATE_LOG_LEVEL: 'silent', [variable]: port };
  expect(await runControlPlane(env)).toBe(2);
  expect(said).toBe(`tollgate cannot start:\n  127.0.0.1:${port} is used by another program; set ${variable} to another port\n`);
});
