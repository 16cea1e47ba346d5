// The pages: where each is, its name, and what a reader needs to see it. Navigation, ⌘K and routes are made from this
// list.
import type { ComponentType } from 'react';
import type { Role, Scope } from './session.tsx';

export interface PageEntry {
  /** Below `/console/`. */
  readonly path: string;
  readonly name: string;
  /** One line, for ⌘K. */
  readonly about: string;
  readonly scope: Scope;
  readonly roles?: readonly Role[];
  /** The path of the page's icon, in a box of 16 × 16. */
  readonly icon: string;
  readonly load: () => Promise<{ readonly Page: ComponentType }>;
}

export const pages: readonly PageEntry[] = [
  {
    path: '',
    name: 'Overview',
    about: 'What agents do now, and what is enforced',
    scope: 'admin.audit.read',
    icon: 'M2 13V9M6 13V4M10 13V7M14 13V2',
    load: () => import('../overview/page.tsx'),
  },
  {
    path: 'live',
    name: 'Live',
    about: 'Decisions as they happen',
    scope: 'admin.audit.read',
    icon: 'M1 8h3l2-5 4 10 2-5h3',
    load: () => import('../live/page.tsx'),
  },
  {
    path: 'audit',
    name: 'Audit',
    about: 'Search everything that was decided',
    scope: 'admin.audit.read',
    icon: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10M10.6 10.6 14 14',
    load: () => import('../audit/page.tsx'),
  },
  {
    path: 'agents',
    name: 'Agents',
    about: 'Who calls tools, what they may, and what they did',
    scope: 'agents.read',
    icon: 'M8 7a3 3 0 1 0 0-6 3 3 0 0 0 0 6M2 15c0-3.5 2.5-5.5 6-5.5s6 2 6 5.5',
    load: () => import('../agents/page.tsx'),
  },
  {
    path: 'approvals',
    name: 'Approvals',
    about: 'Calls that wait for a person',
    scope: 'admin.approvals',
    icon: 'M2 8.5 6 12.5 14 3.5',
    load: () => import('../approvals/page.tsx'),
  },
  {
    path: 'sidecars',
    name: 'Sidecars',
    about: 'Where calls are decided, and by which revision',
    scope: 'policies.read',
    roles: ['owner', 'admin'],
    icon: 'M2 3h12v4H2zM2 9h12v4H2zM4.5 5h.01M4.5 11h.01',
    load: () => import('../sidecars/page.tsx'),
  },
];
