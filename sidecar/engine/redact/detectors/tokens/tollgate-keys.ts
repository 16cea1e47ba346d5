// Finds Tollgate's own keys, `gsk_<workspace>_<random>`: see `proto/contract/key.ts`. Groq's keys have the same
// beginning and no second `_`.
import type { Detector } from '../../detector.ts';
import { isDrawn } from './drawn.ts';
import { tokenDetector } from './token.ts';

const isRandomPart = (rest: string): boolean => isDrawn(rest.slice(rest.lastIndexOf('_') + 1));

export const tollgateKeys: readonly Detector[] = [
  tokenDetector('tollgate_key', 128, [['gsk_', /[a-z0-9-]{1,40}_[A-Za-z0-9]{32,64}/, { isReal: isRandomPart }]]),
];
