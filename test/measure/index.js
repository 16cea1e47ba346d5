// `node test/measure`: registers the TypeScript loader, then runs main.ts. Called only from a terminal.
import { register } from 'tsx/esm/api';

register();
await import('./main.ts');
