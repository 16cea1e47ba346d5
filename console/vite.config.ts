// Builds the console to static files. All paths are below `/console/`, where the control plane serves them.
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

export default defineConfig({
  base: '/console/',
  plugins: [react()],
  // The control plane puts a nonce of each answer in place of these words, for the styles that Mantine adds.
  html: { cspNonce: '__CSP_NONCE__' },
  build: {
    target: 'es2022',
    // A `data:` URL in a script or a style would need an exception in the Content Security Policy.
    assetsInlineLimit: 0,
    // A list of the files that each page loads, with which a test measures the scripts of the first page.
    manifest: true,
    chunkSizeWarningLimit: 1_600,
  },
});
