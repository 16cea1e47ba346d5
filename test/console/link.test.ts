// The link that a start on a terminal prints, in a browser: it signs in once, and never twice.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { needs } from '../support/installed.ts';
import { eventually } from '../support/programs.ts';
import { type OnTerminal, startOnTerminal } from '../support/start-on-terminal.ts';
import { useBrowser } from './browser.ts';

const { visit } = useBrowser();
let folder = '';
let terminal: OnTerminal;
let link: URL;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-console-'));
  terminal = await startOnTerminal({ TOLLGATE_DATA_DIR: folder, TOLLGATE_OWNER_KEY: `gsk_default_${'l'.repeat(40)}` });
  const found = await eventually(
    async () => /http:\/\/\S+#link=[\w-]{43}(?=\s)/.exec(terminal.printed())?.[0] ?? null,
    (one) => one !== null,
  );
  link = new URL(found ?? '');
}, 120_000);
afterAll(async () => {
  await terminal.end();
  rmSync(folder, { recursive: true, force: true });
});

test('the link of a start signs in once, leaves nothing of its token, and never signs in again', needs('chromium'), async () => {
  const token = link.hash.slice('#link='.length);
  const { page } = await visit(link.origin, '', null);
  const exchanges: string[] = [];
  page.on('request', (request) => {
    if (request.url().endsWith('/session/link')) exchanges.push(request.method());
  });
  // The console is open already: a link of which only the part after # differs loads no page.
  await page.getByLabel('API key').waitFor();
  await page.goto('about:blank');
  await page.goto(link.href);
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  expect(page.url()).not.toContain(token);
  expect(await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }, history.state, location.href])')).not.toContain(
    token,
  );
  await page.reload();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  expect(exchanges).toEqual(['POST']);

  // Someone who finds the address later is refused, and told why; the first person stays signed in.
  const { page: later } = await visit(link.origin, `#link=${token}`, null);
  await later.getByRole('alert').getByText('this link was used already').waitFor();
  await later.getByLabel('API key').waitFor();
  expect(await later.evaluate('location.href')).not.toContain(token);
  await page.reload();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
});
