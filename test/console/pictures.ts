// `npm run console:pictures`: takes pictures of every page from the demo's data. Those that documents show are written to
// docs/images; with `--all <folder>` each page is written there at 1440 and at 390 pixels, light and dark.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { chromiumPath } from '../support/installed.ts';
import { ask, eventually, startProgram } from '../support/programs.ts';
import { listPages, untilLoaded, type VisitedPage } from './pages.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const images = join(root, 'docs/images');

interface Shot extends VisitedPage {
  readonly name: string;
}

const demo = await startProgram(['sidecar/dist/examples/demo/main.js', '--stay'], { env: {}, until: 'key' });
try {
  const origin = new URL(demo.announced.get('console') ?? '').origin;
  const key = demo.announced.get('key') ?? '';
  const wanted = ['rate_limited', 'approval_pending', 'policy_denied'];
  const entries = await eventually(
    async () => (await ask(`${origin}/demo/admin/audit?limit=1000`, key)).body['entries'] as readonly Readonly<Record<string, unknown>>[],
    (all) => all.length > 120 && wanted.every((code) => all.some((one) => one['code'] === code)),
    180_000,
  );
  const denied = entries.find(({ tool, code }) => tool === 'crm.export' && code === 'policy_denied');
  const { body } = await ask(`${origin}/demo/admin/approvals?state=pending`, key);
  const [approval] = body['approvals'] as readonly { readonly id: string }[];
  const shots: readonly Shot[] = [
    ...listPages.map((page) => ({ ...page, name: page.path === '' ? 'overview' : page.path })),
    { name: 'call', path: `calls/${String(denied?.['requestId'])}`, heading: 'crm.export' },
    { name: 'approval', path: `approvals/${approval?.id ?? ''}`, heading: 'payments.transfer' },
  ];
  await takeAll({ origin, key, shots, folder: process.argv[2] === '--all' ? process.argv[3] : undefined });
} finally {
  await demo.end('SIGINT');
}

interface Taking {
  readonly origin: string;
  readonly key: string;
  readonly shots: readonly Shot[];
  readonly folder: string | undefined;
}

async function takeAll({ origin, key, shots, folder }: Taking): Promise<void> {
  const browser = await chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox'] });
  const looks =
    folder === undefined
      ? ([{ width: 1440, scheme: 'light' }] as const)
      : ([1440, 390] as const).flatMap((width) => (['light', 'dark'] as const).map((scheme) => ({ width, scheme })));
  mkdirSync(folder ?? images, { recursive: true });
  for (const { width, scheme } of looks) {
    const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: scheme, locale: 'en-GB', timezoneId: 'UTC' });
    const page = await context.newPage();
    await page.goto(`${origin}/console/`);
    await page.getByLabel('API key').fill(key);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Your account' }).waitFor();
    for (const { name, path, heading } of shots) {
      await page.goto(`${origin}/console/${path}`);
      await untilLoaded(page, heading);
      await page.evaluate('document.fonts.ready');
      const file = folder === undefined ? join(images, `console-${name}.png`) : join(folder, `${name}-${width}-${scheme}.png`);
      await page.screenshot({ path: file, fullPage: folder !== undefined });
      process.stdout.write(`${file}\n`);
    }
    await context.close();
  }
  await browser.close();
}
