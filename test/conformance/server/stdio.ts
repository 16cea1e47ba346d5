// The conformance suite's server as a program that uses its standard streams, in both revisions.
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { buildServer } from './build-server.ts';

serveStdio(() => {
  const server = buildServer({ toolsChanged: () => server.sendToolListChanged(), promptsChanged: () => server.sendPromptListChanged() });
  return server;
});
