// The freeze in the header: typed confirmation, and seen by everyone at once.
import { expect, test } from 'vitest';
import { eventually } from '../support/programs.ts';
import { needs } from '../support/installed.ts';
import { useBrowser } from './browser.ts';
import { useWorld } from './world.ts';

const world = useWorld();
const { visit } = useBrowser();

test(
  'one person freezes, another sees it at once without a reload, every call is denied, and the other unfreezes',
  needs('chromium'),
  async () => {
    const { plane, keys, call } = world();
    const { page: owner } = await visit(plane.rest, '', keys.owner);
    const { page: bob } = await visit(plane.rest, 'sidecars', keys.bob);
    await bob.getByRole('heading', { name: 'Sidecars' }).waitFor();

    await owner.getByRole('button', { name: 'Freeze: deny every call' }).click();
    const confirm = owner.getByRole('button', { name: 'Freeze every call' });
    expect(await confirm.isDisabled()).toBe(true);
    await owner.getByLabel('Type the name of the workspace').fill('defaul');
    expect(await confirm.isDisabled()).toBe(true);
    await owner.getByLabel('Type the name of the workspace').fill('default');
    await confirm.click();

    await bob.getByText('The workspace is frozen').waitFor();
    await eventually(
      () => call('crm.read', {}),
      ({ body }) => body['decision'] === 'deny',
    );

    // The banner says who froze it. It leads to the end of the freeze, which needs no typed name.
    const banner = bob.getByRole('status').filter({ hasText: 'The workspace is frozen' });
    await banner.getByText(/Frozen by \S+/).waitFor();
    await banner.getByRole('button', { name: 'Unfreeze' }).click();
    const dialog = bob.getByRole('dialog');
    expect(await dialog.getByRole('textbox').count()).toBe(0);
    await dialog.getByRole('button', { name: 'Unfreeze', exact: true }).click();
    await owner.getByText('The workspace is frozen').waitFor({ state: 'detached' });
    await eventually(
      () => call('crm.read', {}),
      ({ body }) => body['decision'] === 'allow',
    );
  },
);

test('a member cannot freeze, and is told why', needs('chromium'), async () => {
  const { plane, keys } = world();
  const { page } = await visit(plane.rest, '', keys.mia);
  const button = page.getByRole('button', { name: 'Freeze: deny every call' });
  expect([await button.isDisabled(), await button.getAttribute('title')]).toEqual([
    true,
    'This needs the role owner or admin; yours is member.',
  ]);
});
