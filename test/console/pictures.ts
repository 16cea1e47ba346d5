// `npm run console:pictures`: takes the pictures that documents show, from the data of the demo, and writes them to
// docs/images. `npm run console:pictures -- --all <folder>` writes every page there, at 1440 and at 390 pixels, light and
// dark, for a person to look at.
import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Browser, chromium, type Page } from 'playwright-core';
import { chromiumPath } from '../support/installed.ts';
import { ask, eventually, startProgram } from '../support/programs.ts';
import { listPages, untilLoaded, type VisitedPage } from './pages.ts';

const images = fileURLToPath(new URL('../../docs/images', import.meta.url));
/** Of one picture in the documents. */
const bytesMax = 200_000;
/** So many minutes with calls give the chart of the overview a form. */
const minutesMin = 5;

interface Shot extends VisitedPage {
  readonly name: string;
  /** The height of the window for the documents; absent: they do not show it. */
  readonly height?: number;
  /** What appears last; absent: the data. */
  readonly last?: string;
}

type Body = Readonly<Record<string, unknown>>;

/** Waits until the demo has called for some minutes. */
async function untilSome(origin: string, key: string): Promise<void> {
  const since = new Date(Date.now() - 60 * 60_000).toISOString();
  await eventually(
    async () => (await ask(`${origin}/demo/admin/stats/decisions?by=outcome&every=minute&since=${since}`, key)).body['groups'],
    (groups) => {
      const counts = (groups as readonly { readonly counts: readonly { readonly at: string }[] }[]).flatMap((group) => group.counts);
      return new Set(counts.map(({ at }) => at)).size >= minutesMin;
    },
    900_000,
  );
}

async function shotsOf(origin: string, key: string): Promise<readonly Shot[]> {
  await untilSome(origin, key);
  const wanted = ['rate_limited', 'approval_pending', 'policy_denied'];
  const entries = await eventually(
    async () => (await ask(`${origin}/demo/admin/audit?limit=1000`, key)).body['entries'] as readonly Body[],
    (all) => wanted.every((code) => all.some((one) => one['code'] === code)),
    60_000,
  );
  const denied = entries.find(({ tool, code }) => tool === 'crm.export' && code === 'policy_denied');
  const { body: pending } = await ask(`${origin}/demo/admin/approvals?state=pending`, key);
  const [approval] = pending['approvals'] as readonly { readonly id: string }[];
  const { body: agents } = await ask(`${origin}/api/v1/agents`, key);
  const agent = (agents['profiles'] as readonly { readonly id: string; readonly name: string }[]).find(({ name }) => name === 'support');
  const { body: sidecars } = await ask(`${origin}/demo/admin/sidecars`, key);
  const [sidecar] = sidecars['sidecars'] as readonly { readonly id: string; readonly bootId: string }[];
  return [
    { name: 'overview', path: '?range=quarter', heading: 'Overview', height: 960 },
    { name: 'live', path: 'live', heading: 'Live', height: 720 },
    ...listPages.filter(({ path }) => !['', 'live', 'approvals'].includes(path)).map((page): Shot => ({ ...page, name: page.path })),
    { name: 'approvals', path: 'approvals', heading: 'Approvals', height: 900 },
    { name: 'call', path: `calls/${String(denied?.['requestId'])}`, heading: 'crm.export', height: 860 },
    { name: 'agent', path: `agents/${agent?.id ?? ''}`, heading: 'support', height: 1_230, last: '.react-flow__node' },
    { name: 'approval', path: `approvals/${approval?.id ?? ''}`, heading: 'wants to call' },
    { name: 'sidecar', path: `sidecars/${sidecar?.bootId ?? ''}`, heading: sidecar?.id ?? '' },
  ];
}

const scale = { wide: 1440, narrow: 390 } as const;

interface Look {
  readonly width: number;
  readonly scheme: 'light' | 'dark';
}

/** A page that is signed in. */
async function open(browser: Browser, origin: string, key: string, { width, scheme }: Look): Promise<Page> {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: scheme, locale: 'en-GB', timezoneId: 'UTC' });
  const page = await context.newPage();
  await page.goto(`${origin}/console/`);
  await page.getByLabel('API key').fill(key);
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Your account' }).waitFor();
  return page;
}

async function show(page: Page, origin: string, { path, heading, last }: Shot): Promise<void> {
  await page.goto(`${origin}/console/${path}`);
  await untilLoaded(page, heading);
  // A narrow screen shows no graph.
  if (last !== undefined && (page.viewportSize()?.width ?? 0) > scale.narrow) await page.locator(last).first().waitFor();
  await page.evaluate('document.fonts.ready');
}

async function takeForDocuments(browser: Browser, origin: string, key: string, shots: readonly Shot[]): Promise<void> {
  mkdirSync(images, { recursive: true });
  const page = await open(browser, origin, key, { width: scale.wide, scheme: 'light' });
  for (const shot of shots) {
    if (shot.height === undefined) continue;
    await page.setViewportSize({ width: scale.wide, height: shot.height });
    await show(page, origin, shot);
    const file = join(images, `console-${shot.name}.png`);
    await page.screenshot({ path: file });
    const { size } = statSync(file);
    process.stdout.write(`${file} ${size.toLocaleString('en')} bytes\n`);
    if (size > bytesMax) throw new Error(`${file} has ${size} bytes, and a picture in the documents may have ${bytesMax}`);
  }
}

async function takeAll(browser: Browser, origin: string, key: string, shots: readonly Shot[], folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  for (const width of Object.values(scale))
    for (const scheme of ['light', 'dark'] as const) {
      const page = await open(browser, origin, key, { width, scheme });
      for (const shot of shots) {
        await show(page, origin, shot);
        const file = join(folder, `${shot.name}-${width}-${scheme}.png`);
        await page.screenshot({ path: file, fullPage: true });
        process.stdout.write(`${file}\n`);
      }
      await page.context().close();
    }
}

const [flag, folder] = process.argv.slice(2);
if (flag !== undefined && (flag !== '--all' || folder === undefined)) throw new Error('use no argument, or --all <folder>');
const demo = await startProgram(['sidecar/dist/examples/demo/main.js', '--stay'], { env: {}, until: 'key' });
const browser = await chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
try {
  const { origin } = new URL(demo.announced.get('console') ?? '');
  const key = demo.announced.get('key') ?? '';
  const shots = await shotsOf(origin, key);
  if (folder === undefined) await takeForDocuments(browser, origin, key, shots);
  else await takeAll(browser, origin, key, shots, folder);
} finally {
  await browser.close();
  await demo.end('SIGINT');
}
