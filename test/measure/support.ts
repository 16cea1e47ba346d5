// Small trees for the tests of test/measure, each a git repository in a temporary folder.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { openTree, type Tree } from '../support/checkout/tree.ts';

/**
 * A tree of these files, by path, with a package.json whose workspaces are `one` and `packages/*`, unless they contain
 * their own.
 */
export function makeTree(files: Readonly<Record<string, string>>): Tree {
  const root = mkdtempSync(join(tmpdir(), 'tollgate-measure-test-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const all = {
    'package.json': JSON.stringify({ workspaces: ['one', 'packages/*'] }),
    'one/package.json': JSON.stringify({ name: '@tree/one' }),
    ...files,
  };
  for (const [path, text] of Object.entries(all)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  execFileSync('git', ['init', '--quiet'], { cwd: root });
  return openTree(root);
}
