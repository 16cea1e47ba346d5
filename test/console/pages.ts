// The pages that every visitor test opens: their paths and a heading that shows that the page is there.
import type { Page } from 'playwright-core';

export interface VisitedPage {
  readonly path: string;
  readonly heading: string;
}

export const listPages: readonly VisitedPage[] = [
  { path: '', heading: 'Overview' },
  { path: 'live', heading: 'Live' },
  { path: 'audit', heading: 'Audit' },
  { path: 'agents', heading: 'Agents' },
  { path: 'approvals', heading: 'Approvals' },
  { path: 'sidecars', heading: 'Sidecars' },
];

/** Waits until the page shows its data: no skeleton is left. */
export async function untilLoaded(page: Page, heading: string): Promise<void> {
  await page.getByRole('heading', { name: heading, level: 1 }).waitFor();
  await page.getByLabel('loading').first().waitFor({ state: 'detached' });
}
