// A person who is a member of several workspaces: after a change of the workspace nothing of the former one is left, in
// any tab.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OAuth2Server } from 'oauth2-mock-server';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { needs } from '../support/installed.ts';
import { ask, startControlPlane, type ControlPlane } from '../support/programs.ts';
import { freePort } from '../support/prometheus.ts';
import { useBrowser } from './browser.ts';

const { visit } = useBrowser();
const ownerKey = `gsk_default_${'w'.repeat(40)}`;
const operatorKey = 'o'.repeat(40);
let plane: ControlPlane;
let issuer: OAuth2Server;
let otherKey = '';
let folder = '';

const post = async (path: string, key: string, body: unknown): Promise<Readonly<Record<string, unknown>>> => {
  const answer = await ask(`${plane.rest}${path}`, key, { body });
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
  return answer.body;
};

beforeAll(async () => {
  issuer = new OAuth2Server();
  await issuer.issuer.keys.generate('RS256');
  await issuer.start(0, '127.0.0.1');
  issuer.issuer.url = `http://127.0.0.1:${issuer.address().port}`;
  issuer.service.on('beforeTokenSigning', ({ payload }: { payload: object }) => void Object.assign(payload, { sub: 'ann' }));
  issuer.service.on('beforeUserinfo', (response) => void Object.assign(response, { body: { sub: 'ann' } }));
  folder = mkdtempSync(join(tmpdir(), 'tollgate-console-'));
  const port = String(await freePort());
  plane = await startControlPlane({
    TOLLGATE_DATA_DIR: folder,
    TOLLGATE_OWNER_KEY: ownerKey,
    TOLLGATE_OPERATOR_KEY: operatorKey,
    TOLLGATE_PORT: port,
    TOLLGATE_PUBLIC_URL: `http://127.0.0.1:${port}`,
    TOLLGATE_OIDC_ISSUER: issuer.issuer.url,
    TOLLGATE_OIDC_CLIENT_ID: 'tollgate',
  });
  const owner = { uid: 'ann', email: 'ann@example.com' };
  otherKey = String((await post('/api/v1/workspaces', operatorKey, { slug: 'other', owner }))['key']);
  await post('/default/admin/members', ownerKey, { ...owner, role: 'admin' });
  for (const [key, name] of [
    [ownerKey, 'only-in-default'],
    [otherKey, 'only-in-other'],
  ] as const)
    await post('/api/v1/agents', key, { name, model: 'demo/echo' });
}, 120_000);
afterAll(async () => {
  await plane.end();
  await issuer.stop();
  rmSync(folder, { recursive: true, force: true });
});

const isShown = (page: Page, name: string) => page.getByRole('link', { name }).waitFor();
const shown = (page: Page) => page.evaluate<string>('document.documentElement.innerHTML');
/** Everything that a browser keeps for a page. */
const kept = (page: Page) =>
  page.evaluate<string>(
    '(async () => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, await caches.keys(), await indexedDB.databases()]))()',
  );
/** The answers about agents are never given, so what the page shows of agents is what it has kept. */
const withholdAgents = (page: Page) => page.route('**/api/v1/agents*', () => undefined);

test('a member changes the workspace: in no tab anything of the former one is left', needs('chromium'), async () => {
  const { page, context } = await visit(plane.rest, 'agents', null, { issuer: issuer.issuer.url ?? '' });
  await page.getByRole('button', { name: 'Sign in with your organisation' }).click();
  await isShown(page, 'only-in-default');
  const tab = await context.newPage();
  await tab.goto(`${plane.rest}/console/agents`);
  await isShown(tab, 'only-in-default');
  await withholdAgents(tab);

  await page.getByRole('button', { name: 'Workspace default; change it' }).click();
  await page.getByRole('menuitem', { name: 'other' }).click();
  await page.getByRole('button', { name: 'Workspace other; change it' }).waitFor();
  await page.getByRole('link', { name: 'Agents', exact: true }).click();
  await isShown(page, 'only-in-other');
  expect(await shown(page)).not.toContain('only-in-default');
  expect(await kept(page)).not.toContain('only-in-default');

  // The other tab follows by itself.
  await tab.getByRole('button', { name: 'Workspace other; change it' }).waitFor();
  expect(await shown(tab)).not.toContain('only-in-default');
  await tab.getByLabel('loading').first().waitFor();

  // The page before the change is not there any more either.
  await page.goBack();
  await page.goBack();
  await isShown(page, 'only-in-other');
  expect(await shown(page)).not.toContain('only-in-default');
});

test('what one key has read is not shown to the next, in the same tab', needs('chromium'), async () => {
  const { key, id } = await post('/default/admin/keys', ownerKey, { name: 'short', scopes: ['agents.read', 'admin.audit.read'] });
  const { page } = await visit(plane.rest, 'agents', String(key));
  await isShown(page, 'only-in-default');
  await withholdAgents(page);
  await ask(`${plane.rest}/default/admin/keys/${String(id)}`, ownerKey, { method: 'DELETE' });
  await page.getByLabel('API key').fill(otherKey);
  await page.keyboard.press('Enter');
  await page.getByText('other', { exact: true }).waitFor();
  await page.getByLabel('loading').first().waitFor();
  expect(await shown(page)).not.toContain('only-in-default');
});
