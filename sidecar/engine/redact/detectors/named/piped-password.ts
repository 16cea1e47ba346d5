// Finds passwords that a shell passes to a command: `echo '…' | sudo -S`, `echo "user:…" | chpasswd`.
import type { Detector } from '../../detector.ts';
import { isPasswordValue } from './named-value.ts';

const before = 200;
// The text that the shell passes: between quotes, or one word. If the command needs a user's name, that name precedes
// the password.
const echoed =
  /(?:echo|printf)[ \t]{1,4}(?:-[en]{1,2}[ \t]{1,4})?(?:\\{0,3}["']([^"'|\n\\]{1,128})(?:\\n[^"'|\n\\]{0,128})?(?:\\n)?\\{0,3}["']|([^\s"'|;&]{1,128}))[ \t]{0,4}\|[ \t]{0,4}(?:[\w./-]{1,40}[ \t]{1,2}){0,6}$/;
const given = /<<<[ \t]{0,2}\\{0,3}["']?([^\s"'|;&\\]{1,128})/y;
const commandEnd = /[^\n|;&<]{0,60}/y;

export const pipedPassword: Detector = {
  kind: 'password',
  anchors: ['sudo -s', '--password-stdin', 'chpasswd', 'passwd --stdin', '| passwd', '-passin stdin', 'cryptsetup'],
  reach: { before, after: 260 },
  find: (text, at, end, found) => {
    const behind = text[at] === '|' ? at + 1 : at;
    const window = text.slice(Math.max(0, at - before), behind);
    const piped = echoed.exec(window);
    const whole = piped?.[1] ?? piped?.[2];
    if (piped !== null && whole !== undefined) {
      const start = behind - window.length + window.indexOf(whole, piped.index + 'echo'.length);
      report(text, start, start + whole.length, /^chpasswd/i.test(text.slice(at, end)), found);
      return;
    }
    commandEnd.lastIndex = end;
    given.lastIndex = commandEnd.test(text) ? commandEnd.lastIndex : end;
    const value = given.exec(text)?.[1];
    if (value !== undefined) report(text, given.lastIndex - value.length, given.lastIndex, /^chpasswd/i.test(text.slice(at, end)), found);
  },
};

function report(text: string, start: number, end: number, hasUser: boolean, found: (start: number, end: number) => void): void {
  const colon = hasUser ? text.slice(start, end).indexOf(':') + 1 : 0;
  const value = text.slice(start + colon, end);
  if (isPasswordValue(value) && !value.startsWith('$')) found(start + colon, end);
}
