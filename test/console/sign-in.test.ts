// Signing in, the end of a session, and what each role may see.
import { expect, test } from 'vitest';
import { needs } from '../support/installed.ts';
import { useBrowser } from './browser.ts';
import { useWorld, workspace } from './world.ts';

const world = useWorld();
const { visit } = useBrowser();
const browsing = needs('chromium');

test('a key opens a session; the key is kept nowhere in the browser', browsing, async () => {
  const { plane, keys } = world();
  const { page, context } = await visit(plane.rest, '', keys.owner);
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  const kept = await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href])');
  expect(kept).not.toContain('gsk_');
  const [cookie, ...more] = await context.cookies();
  expect([cookie?.httpOnly, cookie?.sameSite, more]).toEqual([true, 'Strict', []]);
  expect(cookie?.value).not.toContain('gsk_');
});

test('a wrong key is refused with the reason, and a text that is no key is not sent', browsing, async () => {
  const { plane } = world();
  const { page } = await visit(plane.rest, 'audit', null);
  const sent: string[] = [];
  page.on('request', (request) => sent.push(request.method()));
  await page.getByLabel('API key').fill('hello');
  await page.keyboard.press('Enter');
  await page.getByText('A key has the form gsk_<workspace>_<random>').waitFor();
  expect(sent).not.toContain('POST');
  await page.getByLabel('API key').fill(`gsk_default_${'x'.repeat(40)}`);
  await page.keyboard.press('Enter');
  await page.getByRole('alert').getByText('unknown, revoked or expired').waitFor();
});

test('the page that was wanted opens after the sign-in', browsing, async () => {
  const { plane, keys } = world();
  const { page } = await visit(plane.rest, 'sidecars', null);
  await page.getByLabel('API key').fill(keys.owner);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Sidecars' }).waitFor();
  await page.getByRole('link', { name: 'edge-1' }).waitFor();
});

test('a session that ends in use leads to the sign-in page, and back to the same page', browsing, async () => {
  const { plane, rest } = world();
  const { body } = await rest('POST', `/${workspace}/admin/keys`, {
    name: 'short',
    scopes: ['policies.read', 'admin.audit.read', 'agents.read'],
  });
  const { page } = await visit(plane.rest, 'sidecars', String(body['key']));
  await page.getByRole('link', { name: 'edge-1' }).waitFor();
  await rest('DELETE', `/${workspace}/admin/keys/${String(body['id'])}`);
  await page.getByLabel('API key').fill(world().keys.owner);
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'edge-1' }).waitFor();
});

test('a member is told why a page is not theirs, and signs out', browsing, async () => {
  const { plane, keys } = world();
  const { page } = await visit(plane.rest, '', keys.mia);
  await page.getByLabel('Sidecars: This needs the role owner or admin; yours is member.').focus();
  await page.getByRole('tooltip').getByText('This needs the role owner or admin; yours is member.').waitFor();
  await page.getByRole('button', { name: 'Your account' }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.getByLabel('API key').waitFor();
  await page.goto(`${plane.rest}/console/audit`);
  await page.getByLabel('API key').waitFor();
});
