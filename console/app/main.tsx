// Starts the console in the browser.
import '@mantine/core/styles.css';
import '@mantine/notifications/styles.css';
import './outcomes.css';
import { MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { RouterProvider } from 'react-router';
import { ApiError } from '../api/client.ts';
import { router } from './routes.tsx';
import { theme } from './theme.ts';

const retriesMax = 2;

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      // A refusal stays a refusal; what did not arrive may arrive next time.
      retry: (count, error) => count < retriesMax && !(error instanceof ApiError && error.status >= 400 && error.status < 500),
      staleTime: 5_000,
    },
  },
});

const nonce = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? '';
// The library that stops the page from scrolling below a dialog adds a style too, and takes its nonce from this variable.
Object.assign(globalThis, { __webpack_nonce__: nonce });
const root = document.querySelector('#root');
if (root === null) throw new Error('the page has no element #root');

createRoot(root).render(
  <StrictMode>
    <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={() => nonce}>
      <Notifications position="bottom-right" limit={2} />
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
