// Debian's Chromium, driven by playwright-core. One browser for a test file, one context for a test: a context has cookies
// of its own, as another person's browser has.
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { chromiumPath } from '../support/installed.ts';

interface Visitor {
  readonly page: Page;
  readonly context: BrowserContext;
}

interface VisitOptions {
  readonly width?: number;
  readonly height?: number;
  readonly scheme?: 'light' | 'dark';
  /** Another origin that the page may go to. */
  readonly issuer?: string;
}

export interface Visits {
  /** Opens `path` below `/console/`, signed in with the key; null: not signed in. */
  readonly visit: (origin: string, path: string, key: string | null, options?: VisitOptions) => Promise<Visitor>;
}

/** What a page must not do is collected and checked after each test: errors of scripts, and what the CSP blocked. */
export function useBrowser(): Visits {
  let browser: Browser | null = null;
  const contexts: BrowserContext[] = [];
  const faults: string[] = [];
  beforeAll(async () => {
    // Chromium has no sandbox of its own for root.
    browser = await chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
  });
  afterEach(async () => {
    for (const context of contexts.splice(0)) await context.close();
    expect(faults.splice(0)).toEqual([]);
  });
  afterAll(async () => {
    await browser?.close();
  });
  return {
    visit: async (origin, path, key, { width = 1440, height = 900, scheme = 'light', issuer } = {}) => {
      if (browser === null) throw new Error('the browser has not started');
      const context = await browser.newContext({
        viewport: { width, height },
        colorScheme: scheme,
        locale: 'en-GB',
        timezoneId: 'Europe/Berlin',
      });
      contexts.push(context);
      // Every tab of the person.
      context.on('page', (one) => {
        one.on('pageerror', (error) => faults.push(`error: ${error.message}`));
        one.on('console', (message) => {
          if (message.type() === 'error' && /content security policy/i.test(message.text())) faults.push(message.text());
        });
        one.on('request', (request) => {
          const { origin: to } = new URL(request.url());
          if (to !== origin && to !== issuer) faults.push(`a request to ${request.url()}`);
        });
      });
      const page = await context.newPage();
      if (key !== null) await signIn(page, origin, key);
      await page.goto(`${origin}/console/${path}`);
      return { page, context };
    },
  };
}

async function signIn(page: Page, origin: string, key: string): Promise<void> {
  await page.goto(`${origin}/console/`);
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Sign in with the key' }).click();
  await page.getByRole('button', { name: 'Your account' }).waitFor();
}
