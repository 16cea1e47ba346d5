// An empty workspace leads to its first governed call, and shows it by itself.
import { expect, test } from 'vitest';
import { eventually } from '../support/programs.ts';
import { needs } from '../support/installed.ts';
import { useBrowser } from './browser.ts';
import { useWorld } from './world.ts';

const world = useWorld();
const { visit } = useBrowser();

test('overview and live say how to make the first call, and change by themselves when it arrives', needs('chromium'), async () => {
  const { plane, keys, call } = world();
  const { page: overview } = await visit(plane.rest, '', keys.owner);
  const { page: live } = await visit(plane.rest, 'live', keys.bob);
  await overview.getByText('No call was decided in the last hour').waitFor();
  await live.getByText('/govern/tool-use').first().waitFor();
  expect(await overview.getByText('/govern/tool-use').first().textContent()).toContain(plane.rest);

  // On a busy machine the first call may be denied because its cap was not read in time.
  await eventually(
    () => call('github.delete_repo', { repo: 'web' }),
    ({ body }) => String(body['reason']).startsWith('policy_denied'),
  );
  await overview.getByText('github.delete_repo').first().waitFor();
  await overview.getByText('No call was decided in the last hour').waitFor({ state: 'detached' });
  await live.getByText('github.delete_repo').first().waitFor();
});

test('a denial is explained in three clicks from the overview', needs('chromium'), async () => {
  const { plane, keys } = world();
  const { page } = await visit(plane.rest, '', keys.owner);
  await page.getByRole('region', { name: 'Most denied tools' }).getByRole('link', { name: 'github.delete_repo' }).click();
  await page.getByRole('heading', { name: 'Audit' }).waitFor();
  await page.getByRole('grid').getByRole('link', { name: 'github.delete_repo' }).first().click();
  await page.getByRole('heading', { level: 1, name: 'github.delete_repo' }).waitFor();
  expect(page.url()).toMatch(/\/calls\//);
  await page.getByText('tools["github.delete_repo"].api').first().waitFor();
});
