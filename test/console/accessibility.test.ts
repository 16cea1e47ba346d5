// Every page, light and dark, wide and narrow: axe-core finds nothing serious, and nothing is wider than the screen.
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { needs } from '../support/installed.ts';
import { eventually } from '../support/programs.ts';
import { useBrowser } from './browser.ts';
import { listPages, untilLoaded } from './pages.ts';
import { useWorld } from './world.ts';

const world = useWorld();
const { visit } = useBrowser();
let requestId = '';

beforeAll(async () => {
  const { call, recorded } = world();
  await call('crm.read', { customer: 'Ada', email: 'ada@example.com' }, { session_id: 'axe' });
  await call('github.delete_repo', { repo: 'web' }, { session_id: 'axe' });
  await call('payments.transfer', { amount: 500, to: 'Harbour Print' }, { session_id: 'axe' });
  for (let n = 0; n < 3; n += 1) await call('mail.send', { to: 'ada@example.com' }, { session_id: 'axe' });
  const entries = await recorded('axe', 6);
  requestId = String(entries.find(({ tool }) => tool === 'github.delete_repo')?.['requestId']);
});

interface Violation {
  readonly id: string;
  readonly impact: string;
  readonly help: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

async function seriousIn(page: Page): Promise<readonly string[]> {
  // Not by a script element, which the Content Security Policy refuses.
  await page.evaluate(axe.source);
  const violations = await page.evaluate<readonly Violation[]>(
    'axe.run(document, { resultTypes: ["violations"] }).then((found) => found.violations)',
  );
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, help, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${help}: ${html.slice(0, 200)} ${failureSummary}`));
}

/** How many pixels the document is wider than the window. */
const overflow = (page: Page): Promise<number> => page.evaluate('document.documentElement.scrollWidth - innerWidth');

for (const scheme of ['light', 'dark'] as const)
  for (const { path, heading } of [...listPages, { path: 'calls/', heading: 'github.delete_repo' }])
    test(`${heading}, ${scheme}: nothing serious for axe, at 1440 and at 390 pixels`, needs('chromium'), async () => {
      const { plane, keys } = world();
      const { page } = await visit(plane.rest, path === 'calls/' ? `calls/${requestId}` : path, keys.owner, { scheme });
      await untilLoaded(page, heading);
      expect(await seriousIn(page)).toEqual([]);
      for (const width of [390, 360]) {
        await page.setViewportSize({ width, height: 844 });
        // The frame moves to its new width for a moment.
        await eventually(
          () => overflow(page),
          (pixels) => pixels === 0,
          5_000,
        );
      }
      expect(await seriousIn(page)).toEqual([]);
    });

test('the sign-in page: nothing serious for axe', needs('chromium'), async () => {
  const { page } = await visit(world().plane.rest, '', null);
  await page.getByRole('heading', { name: 'Sign in to Tollgate' }).waitFor();
  expect(await seriousIn(page)).toEqual([]);
});
