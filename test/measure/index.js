// `node test/measure`: registers the TypeScript loader, then runs main.ts. Called from a terminal only.
import { register } from 'tsx/esm/api';

register();
await import('./main.ts');
