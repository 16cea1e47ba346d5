// Finds a user's name and password in one argument: `curl -u name:password`, `auth=("name", "password")`.
import type { Detector } from '../../detector.ts';
import { isPlaceholder } from '../placeholders.ts';
import { endAt } from './match.ts';

const commandMax = 240;
const command = /(?:^|[\s;&|$("'`/\\])(?:curl|wget|https?|xh|curlie|httpie|lftp|restish|ab|siege|hey|wrk)(?:\.exe)?["']?\s[^\n]*$/;
const quoted = /(?:=|\s{1,4})?(?:\\?'[^\s':]{1,64}:(?=[^'\n]{1,128}')|\\?"[^\s":]{1,64}:(?=[^"\n]{1,128}")|[^\s'":\\]{1,64}:(?=[^\s'"]))/y;
const quotedPassword = { "'": /[^'\\\n]{1,128}/y, '"': /[^"\\\n]{1,128}/y } as const;
const plainPassword = /[^\s'"`\\;|&)]{1,128}/y;

/** Finds a password in an argument of a command that sends requests. */
export const loginArgument: Detector = {
  kind: 'authorization',
  anchors: ['-u', '--user', '--proxy-user', '-a '],
  reach: { before: commandMax, after: 256 },
  find: (text, at, end, found) => {
    if (!/\s/.test(text.charAt(at - 1))) return;
    const after = text[end - 1] === ' ' ? end - 1 : end;
    const start = endAt(quoted, text, after);
    if (start === -1 || !command.test(text.slice(Math.max(0, at - commandMax), at))) return;
    const quote = /["']/.exec(text.slice(after, start))?.[0];
    const stop = endAt(quote === '"' || quote === "'" ? quotedPassword[quote] : plainPassword, text, start);
    // `-u 1000:1000` is an option of a container command, and contains no password.
    const isUserId = /(?:^|[\s=])\d+:$/.test(text.slice(after, start)) && /^\d+$/.test(text.slice(start, stop));
    if (stop !== -1 && !isUserId && !isPlaceholder(text.slice(start, stop))) found(start, stop);
  },
};

const nameThen = /\s{0,8}\\{0,3}(["'])[^"'\\\n]{1,64}\\{0,3}["']\s{0,4},\s{0,8}(?:Some\()?\\{0,3}["']/y;
const secondArgument = /[^"'\\\n]{3,128}(?=\\{0,3}["'])/y;

/** Finds a password in the arguments of a function that takes a name and a password. */
export const loginCall: Detector = {
  kind: 'authorization',
  anchors: ['auth=(', 'auth = (', 'basicauth(', 'basic_auth(', '.auth(', 'networkcredential(', 'passwordcredentials('],
  reach: { before: 0, after: 320 },
  find: (text, _at, end, found) => {
    const start = endAt(nameThen, text, end);
    const stop = start === -1 ? -1 : endAt(secondArgument, text, start);
    if (stop !== -1 && !isPlaceholder(text.slice(start, stop))) found(start, stop);
  },
};
