// The console without a pointer.
import { expect, test } from 'vitest';
import { needs } from '../support/installed.ts';
import { useBrowser } from './browser.ts';
import { useWorld } from './world.ts';

const world = useWorld();
const { visit } = useBrowser();

test('signing in, going to a page by Ctrl K, and freezing: keyboard only', needs('chromium'), async () => {
  const { plane, keys } = world();
  const { page } = await visit(plane.rest, '', null);
  await page.getByLabel('API key').waitFor();
  await page.keyboard.type(keys.owner);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Overview' }).waitFor();

  await page.keyboard.press('Control+k');
  await page.getByPlaceholder('A page, agent, tool, user, sidecar or request id').waitFor();
  await page.keyboard.type('sidecars');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Sidecars' }).waitFor();

  // The link of the first sidecar is reached by Tab, and its focus is seen.
  const passed: string[] = [];
  while (passed.at(-1) !== 'edge-1') {
    expect(passed.length, passed.join(' > ')).toBeLessThan(40);
    await page.keyboard.press('Tab');
    passed.push(await page.evaluate<string>('document.activeElement.textContent'));
  }
  expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).not.toBe('none');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'edge-1' }).waitFor();

  const freeze = page.getByRole('button', { name: 'Freeze: deny every call' });
  await freeze.focus();
  await page.keyboard.press('Enter');
  await page.getByLabel('Type the name of the workspace').waitFor();
  await page.keyboard.press('Escape');
  await page.getByLabel('Type the name of the workspace').waitFor({ state: 'detached' });
  expect(await page.getByText('The workspace is frozen').count()).toBe(0);
});
