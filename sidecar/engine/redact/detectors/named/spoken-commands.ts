// Finds passwords in commands and statements that mark them in a special way, such as `identified by '…'` or `sshpass
// -p …`.
import type { Detector } from '../../detector.ts';
import { isCode, isPasswordValue } from './named-value.ts';

interface Command {
  /** The text directly before the value. */
  readonly before: string;
  /** Matches the text after `before`. Its second group is the value. */
  readonly pattern: RegExp;
}

const quoted = `(["'])([^"'\\n]{1,128})\\1`;
const commands: readonly Command[] = [
  { before: 'identified by', pattern: new RegExp(`[ \\t\\r\\n]{1,8}(?:values[ \\t]+)?${quoted}`, 'iy') },
  { before: 'set password', pattern: new RegExp(`[ \\t]{1,4}for[ \\t]{1,4}[^=\\n;]{1,80}=[ \\t]{0,4}(?:password\\()?${quoted}`, 'iy') },
  { before: 'identified with', pattern: new RegExp(`[ \\t\\r\\n]{1,8}[\\w"'\`]{1,40}[ \\t]{1,4}(?:by|as)[ \\t]{1,4}${quoted}`, 'iy') },
  {
    before: 'convertto-securestring',
    pattern: new RegExp(
      `[ \\t]{1,4}(?:-string[ \\t]{1,4})?(?:-asplaintext[ \\t]{1,4})?(?:-force[ \\t]{1,4})?(?:-string[ \\t]{1,4})?${quoted}`,
      'iy',
    ),
  },
  // Configurations of routers: plain passwords, and passwords in the reversible form.
  { before: 'secret 0', pattern: /[ \t]("?)([^\s"\\]{4,64})\1(?=[ \t]*(?:\r?\n|\\n|$))/y },
  { before: 'password 0', pattern: /[ \t]("?)([^\s"\\]{4,64})\1(?=[ \t]*(?:\r?\n|\\n|$))/y },
  { before: 'password 7', pattern: /[ \t]("?)([0-9A-F]{10,80})\1(?=\s|$)/y },
  { before: 'snmp-server community', pattern: /[ \t]("?)([^\s"]{4,64})\1/y },
  // Messages that databases print at their first start.
  { before: 'password is generated for', pattern: /[ \t]{1,4}[^\s:]{1,80}:[ \t]{1,4}("?)([^\s"]{6,64})\1/y },
  { before: 'generated root password', pattern: /:[ \t]{1,4}("?)([^\s"]{6,64})\1/y },
  { before: '[basicauth]', pattern: /\s{1,4}[^\s:]{1,64}:[ \t]{0,4}("?)([^\s"]{4,128})\1/y },
  ...['create_user(', 'create_superuser('].map((before) => ({
    before,
    pattern:
      /[ \t]{0,4}["'][^"'\n]{0,80}["'],[ \t]{0,4}(?:["'][^"'\n]{0,80}@[^"'\n]{0,80}["'],[ \t]{0,4})?(?:password=)?(["'])([^"'\n@]{4,128})\1/y,
  })),
  // A line of `.pgpass`: host, port, database, user, password.
  { before: ':5432:', pattern: /([\w*-]{1,64}:[\w*.@-]{1,64}):((?:[^\s:\\]|\\[:\\]){4,128})(?=\s|$)/y },
  { before: 'sshpass', pattern: /[ \t]{1,4}-p[ \t]{0,4}(["']?)([^\s"']{1,128})\1/y },
  {
    before: 'mysql',
    pattern: /(?:dump|admin|import|check)?(?=[ \t])(?:[ \t]{1,2}(?!-p)[^\s|;&]{1,64}){0,8}?[ \t]{1,2}-p(["']?)([^\s"']{1,128})\1/y,
  },
  { before: 'redis-cli', pattern: /(?:[ \t]{1,2}(?!-a)[^\s|;&]{1,64}){0,8}?[ \t]{1,2}-a[ \t]{1,4}(["']?)([^\s"']{1,128})\1/y },
  { before: 'docker login', pattern: /(?:[ \t]{1,2}(?!-p)[^\s|;&]{1,64}){0,8}?[ \t]{1,2}-p[ \t]{1,4}(["']?)([^\s"']{1,128})\1/y },
];

export const commandPassword: Detector = {
  kind: 'password',
  anchors: commands.map(({ before }) => before),
  reach: { before: 1, after: 768 },
  find: (text, at, end, found) => {
    const pattern = commands.find(({ before }) => before.length === end - at && before === text.slice(at, end).toLowerCase())?.pattern;
    if (pattern === undefined) return;
    pattern.lastIndex = end;
    const value = pattern.exec(text)?.[2];
    if (value === undefined || !isPasswordValue(value) || isCode(value)) return;
    const close = /["']/.test(text.charAt(pattern.lastIndex - 1)) ? 1 : 0;
    found(pattern.lastIndex - close - value.length, pattern.lastIndex - close);
  },
};
