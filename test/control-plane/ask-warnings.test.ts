// Warnings about rules that ask although no one, or too few, may answer.
import type { DocumentId } from '@tollgate/proto/contract';
import { expect, test } from 'vitest';
import { askWarnings, writtenAsks } from '../../control-plane/policies/rules/ask-warnings.ts';
import type { PolicyDocument, RuleDocument } from '../../sidecar/engine/compile/policy-document.ts';

const olga = { uid: 'olga', role: 'owner' } as const;
const adam = { uid: 'adam', role: 'admin' } as const;
const ann = { uid: 'ann', role: 'member' } as const;
const all = [olga, adam, ann];
const workspace: DocumentId = { layer: 'workspace' };

const documentOf = (rule: RuleDocument): PolicyDocument => ({ tools: { 'payments.*': { api: rule } } });
const warned = (
  rule: RuleDocument,
  members: readonly { readonly uid: string; readonly role: 'owner' | 'admin' | 'member' }[],
  id: DocumentId = workspace,
) =>
  askWarnings(writtenAsks([{ id, before: null, after: documentOf(rule) }]), members).map(({ document, path, message }) => [
    document,
    path,
    message,
  ]);
const path = 'tools["payments.*"].api';
const denied = '(approval_unanswerable)';

test('enough members may answer: nothing is said', () => {
  expect(warned({ permission: 'ask' }, all)).toEqual([]);
  expect(warned({ permission: 'ask', ask: 'confirm' }, all)).toEqual([]);
  expect(warned({ permission: 'allow' }, [])).toEqual([]);
});

test('no one may answer', () => {
  expect(warned({ permission: 'ask', ask: { approvers: ['user:gone'] } }, all)).toEqual([
    ['workspace', path, `asks, but no member may answer: its calls are denied ${denied}`],
  ]);
});

test('fewer may answer than are needed', () => {
  expect(warned({ permission: 'ask', ask: { need: 3 } }, all)).toEqual([
    ['workspace', path, `asks, but 2 of 3 needed members may answer: its calls are denied ${denied}`],
  ]);
});

test('the only one who may answer is the person that a call is made for', () => {
  expect(warned({ permission: 'ask' }, [olga, ann])).toEqual([
    ['workspace', path, `asks, but too few members may answer for calls made for olga: these are denied ${denied}`],
  ]);
  expect(warned({ permission: 'ask', ask: { self: true } }, [olga, ann])).toEqual([]);
  expect(warned({ permission: 'ask' }, [olga, ann], { layer: 'role', role: 'member' })).toEqual([]);
  expect(warned({ permission: 'ask' }, [olga, ann], { layer: 'user', uid: 'olga', part: 'organisation' })).toEqual([
    ['user:olga:organisation', path, `asks, but too few members may answer for calls made for olga: these are denied ${denied}`],
  ]);
});

test('what a member asks about, the member answers', () => {
  expect(warned({ permission: 'ask' }, [ann], { layer: 'user', uid: 'ann', part: 'self' })).toEqual([]);
});

test('a case is named, and what was not written is not', () => {
  const cases = [{ name: 'large', when: 'args.a > 1', permission: 'ask' as const, ask: { approvers: ['user:gone'] } }];
  expect(warned({ permission: 'allow', cases }, all)).toEqual([
    ['workspace', `${path}.cases["large"]`, `asks, but no member may answer: its calls are denied ${denied}`],
  ]);
  const after = documentOf({ permission: 'allow', cases });
  expect(writtenAsks([{ id: workspace, before: after, after }])).toEqual([]);
});
