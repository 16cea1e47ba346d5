// Text from agents, tools and inputs that tries to be markup, a script, another direction of writing, terminal commands,
// or very long: on every page it stays text that is seen as it is.
import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { needs } from '../support/installed.ts';
import { useBrowser } from './browser.ts';
import { listPages, untilLoaded } from './pages.ts';
import { useWorld } from './world.ts';

const world = useWorld();
const { visit } = useBrowser();
let requestIds: readonly string[] = [];

const markup = '<img src=x onerror="document.body.dataset.owned=1"><script>document.body.dataset.owned=1</script>';
const bidi = 'invoice\u202e\u2066fdp.exe';
const ansi = '\u001b[31mAPPROVED\u001b[0m\u0007';
const long = 'long'.repeat(40);

beforeAll(async () => {
  const { call, recorded } = world();
  const tools = [`x${markup}`, `payments.${bidi}`, 'payments.transfer', long];
  for (const tool of tools)
    await call(tool, { [markup]: bidi, note: ansi, big: 'w'.repeat(1_000_000) }, { session_id: 'hostile', agent_name: `${bidi}${markup}` });
  await call('payments.transfer', { to: bidi, note: `${markup}${ansi}` }, { session_id: 'hostile' });
  requestIds = (await recorded('hostile', 5)).map(({ requestId }) => String(requestId));
});

/** Raw characters that change how other text looks, in what is shown. */
const raw = /[\u001b\u0007\u202a-\u202e\u2066-\u2069]/u;

async function check(page: Page, heading: string): Promise<void> {
  await untilLoaded(page, heading);
  expect(await page.evaluate('document.body.dataset.owned ?? "no"')).toBe('no');
  expect(await page.evaluate('document.querySelectorAll("main img[onerror], main script").length')).toBe(0);
  const shown = await page.evaluate<string>('document.body.innerText');
  expect(raw.exec(shown)).toBeNull();
  expect(shown.length).toBeLessThan(200_000);
}

for (const { path, heading } of listPages)
  test(`${heading}: hostile text is shown as text`, needs('chromium'), async () => {
    const { plane, keys } = world();
    const { page } = await visit(plane.rest, path, keys.owner);
    await check(page, heading);
  });

test('the pages of hostile calls, and of a hostile approval', needs('chromium'), async () => {
  const { plane, keys, rest } = world();
  const { page } = await visit(plane.rest, '', keys.owner);
  for (const id of requestIds) {
    await page.goto(`${plane.rest}/console/calls/${encodeURIComponent(id)}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    expect(await page.evaluate('document.body.dataset.owned ?? "no"')).toBe('no');
    expect(raw.exec(await page.evaluate<string>('document.body.innerText'))).toBeNull();
  }
  const { body } = await rest('GET', '/default/admin/approvals');
  // Of any state: on a slow machine they have expired by now.
  const approvals = body['approvals'] as readonly { readonly id: string }[];
  expect(approvals.length).toBeGreaterThan(0);
  for (const { id } of approvals) {
    await page.goto(`${plane.rest}/console/approvals/${id}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    expect(raw.exec(await page.evaluate<string>('document.body.innerText'))).toBeNull();
  }
});
