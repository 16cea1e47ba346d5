// The addresses of the console. The code of a page is loaded when it is opened.
import { createBrowserRouter, type RouteObject } from 'react-router';
import { Failed, NotFound } from './failed.tsx';
import { pages } from './pages.ts';
import { Root } from './root.tsx';

const pageRoutes: readonly RouteObject[] = pages.map(({ path, load }) => ({
  ...(path === '' ? { index: true } : { path }),
  lazy: async () => ({ Component: (await load()).Page }),
  ErrorBoundary: Failed,
}));

/** Pages of one thing, which are opened from a list. */
const oneRoutes: readonly RouteObject[] = [
  { path: 'calls/:requestId', lazy: async () => ({ Component: (await import('../calls/page.tsx')).Page }), ErrorBoundary: Failed },
  { path: 'agents/:id', lazy: async () => ({ Component: (await import('../agents/one.tsx')).Page }), ErrorBoundary: Failed },
  { path: 'approvals/:id', lazy: async () => ({ Component: (await import('../approvals/one.tsx')).Page }), ErrorBoundary: Failed },
  { path: 'sidecars/:bootId', lazy: async () => ({ Component: (await import('../sidecars/one.tsx')).Page }), ErrorBoundary: Failed },
];

export const router = createBrowserRouter(
  [{ path: '/', Component: Root, ErrorBoundary: Failed, children: [...pageRoutes, ...oneRoutes, { path: '*', Component: NotFound }] }],
  { basename: '/console' },
);
