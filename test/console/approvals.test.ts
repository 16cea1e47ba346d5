// Answering a call: what misleads is shown where it is answered, the answer is confirmed, and the next call follows.
import { expect, test } from 'vitest';
import { needs } from '../support/installed.ts';
import { eventually } from '../support/programs.ts';
import { useBrowser } from './browser.ts';
import { useWorld } from './world.ts';

const world = useWorld();
const { visit } = useBrowser();

test('two calls are answered, one after the other; the confirmation shows the whole input and its marks', needs('chromium'), async () => {
  const { plane, keys, call, rest } = world();
  const note = 'approved already '.repeat(20);
  // The same call, made again, meets the same approval; it is made again if the control plane could not be asked.
  const asks = (waiting: number, input: object, session: string) =>
    eventually(
      async () => {
        await call('payments.transfer', input, { session_id: session });
        return rest('GET', '/default/admin/approvals?state=pending');
      },
      ({ body }) => (body['approvals'] as readonly unknown[]).length === waiting,
    );
  await asks(1, { amount: 9_500, note, to: 'Harbour Pr\u0456nt' }, 'hostile');
  await asks(2, { amount: 640, to: 'Harbour Print' }, 'plain');
  const { page } = await visit(plane.rest, 'approvals', keys.bob);
  await page.getByRole('link', { name: /Approvals\s*2\s*wait for you/ }).waitFor();
  const first = page.locator('.approval-row').first();
  // The long note takes no space from the recipient, and the letter is marked.
  expect(await first.innerText()).toMatch(/Harbour Pr\u0456\s*U\+0456\s*nt/);

  await page.getByRole('heading', { name: /wants to call payments\.transfer/ }).waitFor();
  await page.getByRole('button', { name: 'Deny d' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Look closely').waitFor();
  const shown = await dialog.innerText();
  expect(shown).toContain(note);
  expect(shown).toMatch(/Harbour Pr\u0456\s*U\+0456\s*nt/);
  await dialog.getByRole('button', { name: /^Deny/ }).click();
  await page.getByRole('alert').filter({ hasText: 'Denied' }).getByText('9500').waitFor();

  // The other call, and no key of an answer afterwards.
  await page.getByRole('link', { name: /Approvals\s*1\s*wait for you/ }).waitFor();
  await page.getByRole('region', { name: 'What the tool will receive' }).getByText('640').waitFor();
  await page.getByRole('button', { name: 'Approve a' }).click();
  await dialog.getByRole('button', { name: /^Approve/ }).click();
  await page.getByRole('alert').filter({ hasText: 'Approved' }).getByText('Harbour Print').waitFor();
  await page.getByText('Nothing waits for a person').waitFor();

  await page.goto(`${plane.rest}/console/approvals?view=history`);
  const denied = page.getByRole('row').filter({ hasText: '9500' });
  await denied.getByText('by you').waitFor();
  await denied.getByRole('link', { name: 'denied' }).click();
  await page.getByRole('heading', { name: 'What the tool would have received' }).waitFor();
  expect(await page.locator('.key-hints').innerText()).not.toMatch(/approve\b/);
});
