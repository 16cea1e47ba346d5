// The console in Chromium, on a control plane with calls: when Overview and Live are painted first and whole, how long
// scripts stop the page, when it shows its data, and how soon it answers the first key. Each round has a browser context
// of its own, so nothing is cached. Without targets; the baseline is a page of one word from the same control plane.
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import buildConsole from '../support/build-console.ts';
import { chromiumPath, programs } from '../support/installed.ts';
import { ask, type ControlPlane, eventually, startControlPlane, startSidecarProgram } from '../support/programs.ts';
import { orient, percentile, type Row } from './measure.ts';
import { Missing } from './side/missing.ts';

const rounds = 7;
const calls = 400;
const ownerKey = `gsk_default_${'k'.repeat(40)}`;
const pages = [
  { name: 'Overview', path: '', whole: 'Most denied tools' },
  { name: 'Live', path: 'live', whole: 'crm.read' },
] as const;

/** In ms from the start of the navigation; the longest task and the key in ms of their own. */
interface Seen {
  readonly firstPaint: number;
  readonly largestPaint: number;
  readonly data: number;
  readonly longestTask: number;
  readonly key: number;
}

const words: Readonly<Record<keyof Seen, string>> = {
  firstPaint: 'first contentful paint',
  largestPaint: 'largest contentful paint',
  data: 'its data is shown',
  longestTask: 'longest task of the main thread',
  key: 'first key to the next paint',
};

/** Runs in the page before its own scripts, and keeps what the browser measures. */
const watch = `
  globalThis.seen = { firstPaint: 0, largestPaint: 0, longestTask: 0, key: 0 };
  const watch = (type, take, more) => new PerformanceObserver((list) => list.getEntries().forEach(take)).observe({ type, buffered: true, ...more });
  watch('paint', ({ name, startTime }) => { if (name === 'first-contentful-paint') seen.firstPaint = startTime; });
  watch('largest-contentful-paint', ({ startTime }) => { seen.largestPaint = startTime; });
  watch('longtask', ({ duration }) => { seen.longestTask = Math.max(seen.longestTask, duration); });
  watch('event', ({ name, duration }) => { if (name === 'keydown') seen.key = Math.max(seen.key, duration); }, { durationThreshold: 16 });
`;

export async function* benchConsole(): AsyncIterable<Row> {
  if (!existsSync(chromiumPath)) throw new Missing(`install ${programs.chromium.package}`);
  buildConsole();
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-bench-'));
  const plane = await startControlPlane({ TOLLGATE_DATA_DIR: join(folder, 'plane'), TOLLGATE_OWNER_KEY: ownerKey });
  const browser = await chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
  try {
    await recordCalls(plane, join(folder, 'spool'));
    const cookie = await cookieOf(plane);
    const bare: number[] = [];
    const seen = new Map<string, Seen[]>(pages.map(({ name }) => [name, []]));
    for (let round = 0; round < rounds; round += 1) {
      bare.push((await look(browser, plane, cookie, { path: null, whole: '' })).firstPaint);
      for (const page of pages) seen.get(page.name)?.push(await look(browser, plane, cookie, page));
    }
    const baseline = percentile(bare, 0.5);
    for (const [name, all] of seen)
      for (const [figure, what] of Object.entries(words) as [keyof Seen, string][]) {
        const value = percentile(
          all.map((one) => one[figure]),
          0.5,
        );
        yield orient({
          name: `console, ${name}: ${what}`,
          value,
          unit: 'ms',
          baseline: `a page of one word: ${Math.round(baseline)} ms to its first paint`,
          ratio: value / baseline,
        });
      }
  } finally {
    await browser.close();
    await plane.end();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Calls of every outcome that a policy without approvals has, all in the log. */
async function recordCalls(plane: ControlPlane, spool: string): Promise<void> {
  const admin = `${plane.rest}/default/admin`;
  const api = { permission: 'allow', transform: 'redact' };
  await ask(`${admin}/workspacePolicy`, ownerKey, {
    method: 'PUT',
    body: { defaults: { api }, tools: { 'github.delete_repo': { api: { permission: 'deny' } }, 'mail.send': { api: { rateLimit: 4 } } } },
  });
  const { body } = await ask(`${admin}/keys`, ownerKey, { body: { name: 'sidecar', scopes: ['sidecar.sync'] } });
  const sidecar = await startSidecarProgram({
    TOLLGATE_CONTROL_PLANE: plane.grpc,
    TOLLGATE_KEY: String(body['key']),
    TOLLGATE_SPOOL_DIR: spool,
  });
  try {
    await eventually(
      () => ask(`${sidecar.url}/readyz`, ''),
      ({ status }) => status === 200,
    );
    const tools = ['mail.send', 'github.delete_repo', 'crm.export', 'crm.read'] as const;
    for (let at = 0; at < calls; at += 1)
      await ask(`${sidecar.url}/govern/tool-use`, ownerKey, {
        body: {
          tool_name: tools[at % tools.length],
          tool_input: { customer: 'Ada', email: 'ada@example.com', at },
          session_id: `s${at % 20}`,
          agent_tier: 'api',
          agent_name: `agent-${at % 7}`,
        },
      });
    await eventually(
      () => ask(`${admin}/stats/decisions?by=outcome`, ownerKey),
      ({ body: stats }) => stats['total'] === calls,
    );
  } finally {
    await sidecar.end();
  }
}

/** Of a session of the owner, as the sign-in page opens one. */
async function cookieOf(plane: ControlPlane): Promise<string> {
  const opened = await fetch(`${plane.rest}/default/admin/session`, { method: 'POST', headers: { authorization: `Bearer ${ownerKey}` } });
  const cookie = opened.headers.get('set-cookie')?.split(';', 1)[0];
  if (cookie === undefined) throw new Error(`no session was opened: ${opened.status} ${await opened.text()}`);
  return cookie;
}

/** `path`: below `/console/`; null: the bare page. `whole`: a text that the page shows with its data. */
async function look(
  browser: Browser,
  plane: ControlPlane,
  cookie: string,
  { path, whole }: { readonly path: string | null; readonly whole: string },
): Promise<Seen> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  try {
    const [name = '', value = ''] = cookie.split('=', 2);
    await context.addCookies([{ name, value, url: plane.rest }]);
    const page = await context.newPage();
    await page.addInitScript(watch);
    if (path === null) {
      const bare = `${plane.rest}/console/bare`;
      await page.route(bare, (route) => route.fulfill({ contentType: 'text/html', body: '<!doctype html><title>bare</title><p>bare' }));
      await page.goto(bare);
      await page.waitForFunction('seen.firstPaint > 0');
      return await seenBy(page, 0);
    }
    await page.goto(`${plane.rest}/console/${path}`);
    await page.getByText(whole).first().waitFor();
    await page.getByLabel('loading').first().waitFor({ state: 'detached' });
    const data = await page.evaluate<number>('performance.now()');
    await page.keyboard.press('Control+k');
    await page.getByPlaceholder('A page, agent, tool, user, sidecar or request id').waitFor();
    return await seenBy(page, data);
  } finally {
    await context.close();
  }
}

/** After two frames, in which the browser tells what it has measured. */
async function seenBy(page: Page, data: number): Promise<Seen> {
  const seen = await page.evaluate<Omit<Seen, 'data'>>(
    'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(seen))))',
  );
  return { ...seen, data };
}
