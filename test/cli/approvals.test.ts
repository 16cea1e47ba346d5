// `tollgate approvals`: what a person sees of a call before they decide it, and that nothing is sent before.
import { describe, expect, test } from 'vitest';
import { jsonOf } from './cli.ts';
import { type Approval, approval, serveApprovals } from './approvals-server.ts';

const yes = { confirm: async () => true };
const terminal = (over = {}) => ({ columns: 80, prompts: { ...yes, ...over } });
const withInput = (input: unknown, over: Approval = {}): Approval => approval('a1', { shownText: JSON.stringify(input), ...over });
const shownOf = async (one: Approval, columns?: number): Promise<string> => {
  const { cli } = await serveApprovals({ approvals: [one] });
  const { code, out, err } = await cli(['approvals', 'show', 'a1'], columns === undefined ? {} : { columns });
  expect({ code, err }).toMatchObject({ code: 0 });
  return out;
};

describe('list', () => {
  test('shows what the pending ones are about, and passes filters on', async () => {
    const { cli, asked } = await serveApprovals({ approvals: [approval('a1'), approval('a2', { state: 'denied', by: 'bob' })] });
    const { out } = await cli(['approvals', 'list', '--tool', 'payments.send', '--mine']);
    expect(out).toMatch(/^id +tool +agent +for +until$/m);
    expect(out).toMatch(/^a1 +payments\.send +billing +ana +2026-11-27 10:00:00Z\n\| amount: 250, to: "DE89"$/m);
    expect(out).not.toContain('a2');
    expect(asked[0]?.what).toBe('GET ?tool=payments.send&mine=true&state=pending');
    expect((await cli(['approvals', 'list', '--state', 'all'])).out).toMatch(/^a2 +denied by bob +payments\.send +billing +ana +1$/m);
    expect(await cli(['approvals', 'list', '--state', 'expired'])).toMatchObject({ out: '', err: 'no approval is expired\n' });
  });

  test('shows the question where calls share one, and the state where it is more than pending', async () => {
    const { cli } = await serveApprovals({ approvals: [approval('a0', { question: 'q0' }), approval('a1'), approval('a2', { need: 2 })] });
    const { out } = await cli(['approvals', 'list']);
    expect(out).toMatch(/^id +state +tool +agent +for +until +question$/m);
    expect(out).toMatch(/^a2 +pending \(0 of 2 approved\) .*Z +1$/m);
    expect(out).toMatch(/^a1 +pending .*Z +1$/m);
    expect(out).toMatch(/^a0 +pending .*Z$/m);
  });

  test('shows an input on one short line: cut, escaped, with what is hidden', async () => {
    const hidden = [{ path: 'account.iban', kind: 'iban', length: 22 }];
    const input = { account: { iban: '[redacted:iban#1]' }, note: `\u202e${'x'.repeat(90)}`, 'a, b': 1, list: [1, 2] };
    const { cli } = await serveApprovals({ approvals: [withInput(input, { hidden }), approval('a2', { shownText: '{' })] });
    const { out } = await cli(['approvals', 'list']);
    expect(out).toContain('account.iban: (hidden), ... (4 more)');
    expect(out).toContain('(the input cannot be read)');
    const long = await serveApprovals({
      approvals: [withInput({ note: `\u202e${'x'.repeat(90)}`, token: '[redacted:secret#1]' }, { hidden })],
    });
    const { out: cut } = await long.cli(['approvals', 'list']);
    expect(cut).toContain(`note: "\\u202e${'x'.repeat(34)}"... (91 characters), ... (1 more) (1 hidden)`);
  });

  test('on a narrow terminal ids stay whole, and no text of an agent begins a line', async () => {
    const id = 'TAQk4vEVyrAUSK6ekCfI';
    const shownText = JSON.stringify({ note: 'x y'.repeat(9), to: 'id      tool'.repeat(3) });
    const one = approval(id, { shownText }, { tool: 'payments.transfer' });
    const { cli } = await serveApprovals({ approvals: [one, { ...one, id: `${id.slice(0, -1)}J` }] });
    const { out } = await cli(['approvals', 'list'], { columns: 78, env: { NO_COLOR: '1' } });
    const lines = out.trimEnd().split('\n');
    expect(lines.filter((line) => line.startsWith(id))).toHaveLength(1);
    for (const line of lines) expect(line).toMatch(/^(?:\| |id |TAQk4vEVyrAUSK6ekCf[IJ] | {20})(?!.{77})/);
  });

  test('refuses a state that does not exist', async () => {
    const { cli, asked } = await serveApprovals({ approvals: [] });
    expect(await cli(['approvals', 'list', '--state', 'open'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('pending, approved'),
    });
    expect(asked).toEqual([]);
  });
});

describe('show', () => {
  test('prints for whom, why, by which rule, the whole input, and what else is asked', async () => {
    const calls = [
      { ts: '2026-11-26T09:59:00.000Z', tool: 'payments.send', decision: 'deny', code: 'approval_pending', reason: 'approval_pending: a1' },
      { ts: '2026-11-26T09:58:00.000Z', tool: 'files.write', decision: 'deny', code: 'no_permission', reason: 'no_permission' },
    ];
    const over = {
      session: { calls },
      revealedBy: ['eve'],
      need: 2,
      approvals: [{ by: 'eve', at: '2026-11-26T10:00:30.000Z', via: 'key' }],
    };
    const { cli } = await serveApprovals({
      approvals: [approval('a1', over, { claimedClient: 'Claude Code 2' }), approval('a2'), approval('a3', { question: 'q2' })],
    });
    const { out, err } = await cli(['approvals', 'show', 'a1']);
    expect(out).toBe(`approval  a1  pending (1 of 2 approved)
tool      payments.send
on behalf of ana, session s1, key key1
agent     billing, billing::interactive::billing, tier interactive
claimed   to be the client "Claude Code 2"; this is not proved
asked     2026-11-26 10:00:00Z, by policy of revision 4
until     2026-11-27 10:00:00Z it can be answered
permits   1 call if approved, within a time that begins with the answer
revealed  to eve
approved  by eve at 2026-11-26 10:00:30Z
rule      workspace tools["payments.send"].interactive: 1 of role:admin
before    2026-11-26 09:59:00Z payments.send pending, not answered at that time
before    2026-11-26 09:58:00Z deny files.write no_permission
together  a2  payments.send  amount: 250, to: "DE89"
input, whole:
| {
|   "amount": 250,
|   "to": "DE89"
| }
approve   tollgate approvals approve a1 [--note <text>]
          on a terminal it asks you first; elsewhere add --yes
deny      tollgate approvals deny a1 [--note <why>]
          it does not ask; the agent reads the note
`);
    expect(err).toBe('');
  });

  test('an answered call has no time to answer and no hint, an approved one says what it permits', async () => {
    const denied = await shownOf(approval('a1', { state: 'denied', by: 'bob' }));
    expect(denied).not.toMatch(/until|permits|^approve |^deny /m);
    const approved = await shownOf(
      approval('a1', { state: 'approved', by: 'bob', uses: 3, used: 1, usableUntil: '2026-11-26T10:16:00.000Z' }),
    );
    expect(approved).toContain('until     2026-11-26 10:16:00Z it permits 3 calls; 1 made so far\n');
    expect(approved).not.toMatch(/^approve /m);
    const cut = await shownOf(approval('a1', { inputCut: true }));
    expect(cut).toContain('input (NOT whole):\n');
    expect(cut).not.toMatch(/^approve /m);
  });

  test('with --json prints the answer', async () => {
    const { cli } = await serveApprovals({ approvals: [approval('a1')] });
    expect(jsonOf(await cli(['approvals', 'show', 'a1', '--json']))).toMatchObject({ id: 'a1', shownText: '{"amount":250,"to":"DE89"}' });
  });

  test('an approval that does not exist, and an id that is none', async () => {
    const { cli } = await serveApprovals({ approvals: [] });
    expect(await cli(['approvals', 'show', 'a9'])).toMatchObject({ code: 1, err: expect.stringContaining('there is no approval a9') });
    expect(await cli(['approvals', 'show', '..'])).toMatchObject({ code: 1, err: expect.stringContaining('is not valid') });
  });
});

describe('hostile content', () => {
  test.each([
    ['a control sequence', '\u001b[2J\u001b[H\u0007\u009b'],
    ['a line end', 'x\r\n| "amount": 1'],
    ['another direction', '\u202etxt.exe\u2066'],
    ['no width', 'a\u200bb\u2060\ufeff\u00ad'],
    ['a filler that no font draws', 'a\u3164\u115f\u17b4\u034f\u180b'],
    ['a variation selector', 'a\ufe0f\u{e0100}'],
    ['a tag', '\u{e0041}\u{e0042}'],
    ['a blank of another kind', 'rm\u00a0-rf\u2003/\u3000\u2800'],
    ['a private character', '\ue000\u{f0000}'],
    ['a line separator', 'a\u2028b\u2029'],
    ['half a character', 'a\ud800b'],
  ])('%s is written as its escape, wherever it is', async (_, text) => {
    const named = { note: text, by: text, rules: [{ document: text, path: text, approvers: [text], need: 1, reason: text }] };
    const call = { tool: text, agent: text, agentType: text, sub: text, sessionId: text, keyId: text, claimedClient: text };
    const session = { calls: [{ ts: text, decision: text, tool: text, code: text, reason: text }] };
    const one = approval('a1', { ...named, shownText: JSON.stringify({ [text]: text }), session, findings: [] }, call);
    for (const columns of [undefined, 60]) {
      const out = (await shownOf(one, columns)).replaceAll(/\u001b\[(?:1|22|33|39)m/g, '');
      expect(out).toMatch(/^[\x20-\x7e\n]+$/);
      expect(out.split('\n').filter((line) => line.startsWith('| "amount"'))).toEqual([]);
    }
    const { cli } = await serveApprovals({ approvals: [one] });
    expect((await cli(['approvals', 'list'])).out).toMatch(/^[\x20-\x7e\n]+$/);
  });

  test('a text that is written as an escape is told apart from the character', async () => {
    expect(await shownOf(withInput({ a: '\\u202e', b: '\u202e' }))).toContain('|   "a": "\\\\u202e",\n|   "b": "\\u202e"\n');
  });

  test('no text of the agent begins a line, however long it is', async () => {
    const filler = 'x'.repeat(200);
    const forged = 'rule      workspace: 0 of role:member';
    const one = approval('a1', { shownText: JSON.stringify({ a: `${filler}${forged.repeat(8)}` }) }, { claimedClient: forged.repeat(8) });
    const lines = (await shownOf(one, 60)).replaceAll(/\u001b\[\d+m/g, '').split('\n');
    expect(lines.filter((line) => line.startsWith('rule'))).toHaveLength(1);
    expect(lines.filter((line) => line.length > 60)).toEqual([]);
  });

  test('letters that look like others are named', async () => {
    const out = await shownOf(withInput({ to: 'p\u0430ypal', shell: '\uff52\uff4d' }));
    expect(out).toContain('warning   a word mixes letters that look alike: p\u0430ypal (p\\u{430}ypal)');
    expect(out).toContain('warning   a word has other forms of plain letters');
    expect(await shownOf(withInput({ to: 'Привет', name: 'Ελένη', food: 'crème brûlée 漢字' }))).not.toContain('warning');
  });
});

describe('warnings', () => {
  const warningsOf = async (input: unknown): Promise<readonly string[]> =>
    (await shownOf(withInput(input))).split('\n').flatMap((line) => (line.startsWith('warning   ') ? [line.slice(10)] : []));

  test('characters that are not seen and long runs of blanks are counted, with their place', async () => {
    expect(await warningsOf({ command: `ls \u202e${' '.repeat(700)}; rm -rf /` })).toEqual([
      '1 character that changes the direction of text (\\u202e) and a run of 700 blanks in "command"',
    ]);
    expect(await warningsOf({ list: [{ to: 'a\u200b\u200bb\u2060' }], 'x\u00a0y': '\u001b[2J' })).toEqual([
      '3 characters that cannot be seen (\\u200b, \\u2060) in "list.0.to"',
      '1 blank that is not a space (\\u00a0) in the name "x\\u00a0y"',
      '1 control character (\\u001b) in "x\\u00a0y"',
    ]);
    expect(await warningsOf(`a${' '.repeat(40)}b${' '.repeat(50)}\u3164`)).toEqual([
      '1 character that cannot be seen (\\u3164) and 2 runs of up to 50 blanks in the input',
    ]);
  });

  test('program text, indentation and emoji get none', async () => {
    const text = `if (a) {\n\t${' '.repeat(39)}b();\r\n}\n`;
    expect(await warningsOf({ text, reply: '\u2764\ufe0f \u{1f469}\u{1f3fd}\u200d\u{1f4bb} ok' })).toEqual([]);
    expect(await warningsOf({ reply: '1\ufe0f' })).toHaveLength(1);
  });

  test('letters that look alike push no invisible character out of the warnings, and what is left out is counted', async () => {
    const words = Array.from({ length: 30 }, (_, at) => `p\u0430y${at}`);
    const found = await warningsOf({ words, last: '\u202e' });
    expect(found).toHaveLength(21);
    expect(found[0]).toContain('changes the direction of text');
    expect(found.at(-1)).toBe('and 11 more warnings like these');
  });

  test('a hidden value has them too, when it is revealed', async () => {
    const hidden = [{ path: 'token', kind: 'secret', length: 3, value: 'a\u202eb' }];
    const { cli } = await serveApprovals({ approvals: [approval('a1', { hidden })] });
    expect((await cli(['approvals', 'reveal', 'a1'])).out).toContain(
      'warning   1 character that changes the direction of text (\\u202e) in "token"\n',
    );
  });
});

describe('marks', () => {
  const mark = '[redacted:secret#1]';
  const hidden = [{ path: 'headers.authorization', kind: 'secret', length: 24 }];

  test.each(['[secret:1]', '[redacted]', '[redacted: secret]', '<hidden>', '[REDACTED:secret#1]', mark])(
    'the text %s of a caller is not taken for a mark of redaction',
    async (text) => {
      expect(await shownOf(withInput({ note: text }))).toContain(
        `|   "note": "${text}"\n    ^ NOT a mark of redaction: text of the caller, and the tool receives it as it is\n`,
      );
    },
  );

  test('a real mark and a copy of it are told apart by their places', async () => {
    const input = { headers: { authorization: mark }, note: mark };
    const out = await shownOf(withInput(input, { hidden, findings: [{ kind: 'secret', count: 1 }] }));
    expect(out).toContain(`"authorization": "${mark}"\n    ^ hidden value 1 (secret)\n`);
    expect(out).toContain('input (1 value hidden):\n');
    expect(out).toContain(`"note": "${mark}"\n    ^ NOT a mark of redaction`);
    expect(out).toContain(`hidden    value 1: secret at "headers.authorization", 24 characters
hidden    from you here, sent in full to the tool; see it with:
          tollgate approvals reveal a1
`);
  });

  test('who has read a hidden value is told when, and a call that is not made any more sends nothing', async () => {
    const { cli } = await serveApprovals({
      approvals: [withInput({ token: mark }, { hidden: [{ ...hidden[0], path: 'token', value: 'x' }] })],
    });
    await cli(['approvals', 'reveal', 'a1']);
    const { out } = await cli(['approvals', 'show', 'a1']);
    expect(out).toContain(
      'sent in full to the tool; you read it at 2026-11-26 10:00:45Z; again:\n          tollgate approvals reveal a1\n',
    );
    await cli(['approvals', 'deny', 'a1']);
    const denied = (await cli(['approvals', 'show', 'a1'])).out;
    expect(denied).toContain('hidden    value 1: secret');
    expect(denied).not.toContain('sent in full');
  });

  test('where two places have the path of a hidden value, neither is trusted', async () => {
    const input = { 'headers.authorization': mark, headers: { authorization: mark } };
    const out = await shownOf(withInput(input, { hidden, findings: [{ kind: 'secret', count: 1 }] }));
    expect(out.match(/or text of the caller in the form of a mark: reveal it/g)).toHaveLength(2);
  });

  test.each([
    ['a name', { '[redacted:email#1]': 1 }, ''],
    ['a value below a name that is no plain word', { 'a b': '[redacted:email#1]' }, '["a b"]'],
  ])('%s that is hidden is not taken for text of the caller', async (_, input, path) => {
    const over = { hidden: [{ path, kind: 'email', length: 20 }], findings: [{ kind: 'email', count: 1 }] };
    const out = await shownOf(withInput(input, over));
    expect(out).toContain('^ perhaps hidden, or text of the caller in the form of a mark: reveal it');
    expect(out).not.toContain('NOT a mark');
  });

  test('where the tool receives the mark, it says so; where one of two is a copy, neither is trusted', async () => {
    const findings = [{ kind: 'email', count: 1 }];
    expect(await shownOf(withInput({ to: '[redacted:email#1]' }, { findings }))).toContain('^ a mark of redaction: the tool receives this');
    const two = await shownOf(withInput({ to: '[redacted:email#1]', cc: '[redacted:email#2]' }, { findings }));
    expect(two.match(/\^ perhaps not a mark/g)).toHaveLength(2);
  });
});

describe('approve', () => {
  test('on a terminal shows the call, asks, and only then sends', async () => {
    const { cli, writes } = await serveApprovals({ approvals: [approval('a1')] });
    let sawBefore = -1;
    let question = '';
    const confirm = async (words: string, about: readonly string[] = []) => {
      [question, sawBefore] = [[words, ...about].join('\n'), writes().length];
      return true;
    };
    const { out, code } = await cli(['approvals', 'approve', 'a1', '--note', 'ok'], terminal({ confirm }));
    const wanted = 'approve a1 on behalf of ana?\n| payments.send  amount: 250, to: "DE89"';
    expect({ code, question, sawBefore }).toEqual({ code: 0, question: wanted, sawBefore: 0 });
    expect(out).toContain('"amount": 250');
    expect(out).toContain('a1 is approved for 1 call until 2026-11-26 10:16:00Z\n| payments.send  amount: 250, to: "DE89"\n');
    expect(writes()).toEqual([{ what: 'POST /a1/approve', body: { note: 'ok' } }]);
  });

  test('no text of the agent begins a line of the question', async () => {
    const tool = `${'x'.repeat(90)}approve a2 on behalf of bob?`;
    const { cli } = await serveApprovals({ approvals: [approval('a1', {}, { tool })] });
    let lines: readonly string[] = [];
    const confirm = async (_words: string, about: readonly string[] = []) => {
      lines = about;
      return false;
    };
    await cli(['approvals', 'approve', 'a1'], terminal({ confirm }));
    expect(lines.length).toBeGreaterThan(1);
    for (const line of lines) expect(line).toMatch(/^\| .{1,78}$/);
  });

  test('an answer that was given is reported, also if the call cannot be read again', async () => {
    let isAnswered = false;
    const { cli } = await serveApprovals({
      approvals: [approval('a1')],
      instead: (what, response) => {
        if (what.startsWith('POST')) isAnswered = true;
        if (!isAnswered || what.startsWith('POST')) return false;
        response.writeHead(500, { 'content-type': 'application/json' }).end('{"error":"internal"}');
        return true;
      },
    });
    expect(await cli(['approvals', 'approve', 'a1', '--yes'])).toMatchObject({ code: 0, out: 'a1 is approved\n' });
  });

  test('a no sends nothing', async () => {
    const { cli, writes } = await serveApprovals({ approvals: [approval('a1')] });
    const { err } = await cli(['approvals', 'approve', 'a1'], terminal({ confirm: async () => false }));
    expect({ err, writes: writes() }).toEqual({ err: 'nothing was answered\n', writes: [] });
  });

  test.each([
    ['without a terminal', [], {}],
    ['with --json', ['--json'], terminal()],
  ])('%s it needs --yes', async (_, words, circumstances) => {
    const { cli, asked } = await serveApprovals({ approvals: [approval('a1')] });
    const refused = await cli(['approvals', 'approve', 'a1', ...words], circumstances);
    expect(refused).toMatchObject({
      code: 1,
      err: expect.stringContaining('see the call first: tollgate approvals show a1; then add --yes'),
    });
    expect(asked).toEqual([]);
    expect(await cli(['approvals', 'approve', 'a1', '--yes'])).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^a1 is approved for 1 call until /),
    });
  });

  test.each([
    ['is cut', { inputCut: true }, 'does not show its whole input'],
    ['does not say whether it is whole', { inputCut: undefined }, 'does not show its whole input'],
    ['was answered', { state: 'denied', by: 'eve', answeredAt: '2026-11-26T10:00:30.000Z' }, 'a1 is denied by eve at 2026-11-26 10:00:30Z'],
    ['is not JSON', { shownText: '{"amount":' }, 'is not JSON, so it cannot be shown'],
  ])('refuses an approval whose input %s', async (_, over, words) => {
    const { cli, writes } = await serveApprovals({ approvals: [approval('a1', over)] });
    expect(await cli(['approvals', 'approve', 'a1'], terminal())).toMatchObject({ code: 1, err: expect.stringContaining(words) });
    if (!('shownText' in over)) expect((await cli(['approvals', 'approve', 'a1', '--yes'])).err).toContain(words);
    expect(writes()).toEqual([]);
  });

  const secret = { hidden: [{ path: 'token', kind: 'secret', length: 7, value: '"hu\u202enter"' }] };

  test('what is hidden must be revealed first, and that is asked for', async () => {
    const { cli, writes } = await serveApprovals({ approvals: [approval('a1', secret)] });
    const without = await cli(['approvals', 'approve', 'a1', '--yes']);
    expect(without).toMatchObject({ code: 1, err: expect.stringContaining('read them first: tollgate approvals reveal a1') });
    expect(writes()).toEqual([]);
    const answers = [false];
    const refused = await cli(['approvals', 'approve', 'a1'], terminal({ confirm: async () => answers.pop() ?? true }));
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('nothing was answered') });
    expect(writes()).toEqual([]);
    const questions: string[] = [];
    const confirm = async (words: string) => questions.push(words) > 0;
    const { out } = await cli(['approvals', 'approve', 'a1'], terminal({ confirm }));
    expect(out).toContain('hidden value 1 at "token": "\\"hu\\u202enter\\""');
    expect(questions).toEqual(['1 of 2: show the 1 hidden value of a1? It is recorded', '2 of 2: approve a1 on behalf of ana?']);
    expect(writes().map(({ what }) => what)).toEqual(['POST /a1/reveal', 'POST /a1/approve']);
  });

  test('who has read what is hidden may continue without reading it again', async () => {
    const { cli, writes } = await serveApprovals({ approvals: [approval('a1', secret)] });
    await cli(['approvals', 'reveal', 'a1']);
    const questions: string[] = [];
    const confirm = async (words: string) => questions.push(words) === 2;
    expect(await cli(['approvals', 'approve', 'a1'], terminal({ confirm }))).toMatchObject({ code: 0 });
    expect(questions[0]).toBe('1 of 2: show the 1 hidden value again? It is recorded; you read this at 2026-11-26 10:00:45Z');
    expect(writes().map(({ what }) => what)).toEqual(['POST /a1/reveal', 'POST /a1/approve']);
  });

  test('several of one question are shown and answered as a whole, those of two are refused', async () => {
    const approvals = [approval('a1'), approval('a2', { shownText: '{"amount":9}' }), approval('a3', { question: 'q2' })];
    const { cli, writes } = await serveApprovals({ approvals });
    const two = await cli(['approvals', 'approve', 'a1', 'a3'], terminal());
    expect(two).toMatchObject({ code: 1, err: expect.stringContaining('different questions') });
    const { out } = await cli(['approvals', 'approve', 'a1', 'a2', 'a1'], terminal());
    expect(out).toContain('"amount": 250');
    expect(out).toContain('"amount": 9');
    expect(out).toMatch(/^a1 is approved for 1 call .*\n\| .*\na2 is approved for 1 call .*\n\| payments\.send {2}amount: 9\n/m);
    expect(writes()).toEqual([{ what: 'POST /a1/approve', body: { with: ['a2'] } }]);
  });

  test('where one more person is needed, it says so', async () => {
    const { cli } = await serveApprovals({ approvals: [approval('a1', { need: 2 })] });
    expect((await cli(['approvals', 'approve', 'a1', '--yes'])).out).toBe(
      'a1 is approved by you, and needs the approval of another person\n| payments.send  amount: 250, to: "DE89"\n',
    );
  });

  test('why a person may not answer, and who was first, are printed', async () => {
    const { cli } = await serveApprovals({
      approvals: [approval('a1')],
      instead: (what, response) => {
        if (!what.startsWith('POST')) return false;
        response
          .writeHead(403, { 'content-type': 'application/json' })
          .end('{"error":"the call is made for you: another person must answer"}');
        return true;
      },
    });
    expect(await cli(['approvals', 'approve', 'a1', '--yes'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('the call is made for you'),
    });
  });
});

describe('reveal, deny and cancel', () => {
  test('a hidden value begins no line of the terminal', async () => {
    const value = `${'x'.repeat(33)}approval  a9  approved by eve${' '.repeat(40)}to decide it: press y`;
    const hidden = [{ path: 'token', kind: 'secret', length: value.length, value }];
    const { cli } = await serveApprovals({ approvals: [approval('a1', { hidden })] });
    const { out } = await cli(['approvals', 'reveal', 'a1'], { columns: 60, env: { NO_COLOR: '1' } });
    const [first = '', ...rest] = out.trimEnd().split('\n');
    expect(first).toMatch(/^hidden value 1 at "token": "x+/);
    expect(rest.length).toBeGreaterThan(1);
    for (const line of rest) expect(line).toMatch(/^(?:\| |warning   a run of 40 blanks in "token"$)/);
    for (const line of [first, ...rest]) expect(line.length).toBeLessThanOrEqual(60);
  });

  test('reveal prints the values escaped', async () => {
    const { cli } = await serveApprovals({
      approvals: [approval('a1', { hidden: [{ path: 'token', kind: 'secret', length: 3, value: 'a\u001b[2J' }] })],
    });
    expect(await cli(['approvals', 'reveal', 'a1'])).toMatchObject({
      code: 0,
      out: 'hidden value 1 at "token": "a\\u001b[2J"\nwarning   1 control character (\\u001b) in "token"\n',
    });
  });

  test('deny sends the note, the others of the question, and the session', async () => {
    const { cli, writes } = await serveApprovals({ approvals: [approval('a1'), approval('a2')] });
    const { out, err } = await cli(['approvals', 'deny', 'a1', 'a2', '--note', 'use the test account', '--session']);
    expect({ out, err }).toEqual({
      out: 'a1 is denied\n| payments.send  amount: 250, to: "DE89"\na2 is denied\n| payments.send  amount: 250, to: "DE89"\n',
      err: 'what the same rules ask for later in this session is denied too\n',
    });
    expect(writes()).toEqual([{ what: 'POST /a1/deny', body: { note: 'use the test account', session: true, with: ['a2'] } }]);
    expect(await cli(['approvals', 'deny', 'a1', '--note', 'x'.repeat(1_001)])).toMatchObject({ code: 1 });
    expect(writes()).toHaveLength(1);
  });

  test('cancel ends each', async () => {
    const { cli, writes } = await serveApprovals({ approvals: [approval('a1'), approval('a2')] });
    expect(await cli(['approvals', 'cancel', 'a1', 'a2'])).toMatchObject({ code: 0, out: 'a1 is cancelled\na2 is cancelled\n' });
    expect(writes().map(({ what }) => what)).toEqual(['POST /a1/cancel', 'POST /a2/cancel']);
  });
});

describe('watch', () => {
  test('prints what waits, each change once, and what changed while the connection was lost', async () => {
    const stop = new AbortController();
    const server = await serveApprovals({
      approvals: [approval('a1')],
      instead: (what, response) => {
        if (!what.startsWith('GET /stream')) return false;
        streams += 1;
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        if (streams === 1) {
          const second = approval('a2');
          const other = approval('a4', {}, { tool: 'files.read' });
          server.current.set('a2', second);
          response.write(
            `event: approval\ndata: ${JSON.stringify(other)}\n\nevent: approval\ndata: ${JSON.stringify(second)}\n\nevent: approval\ndata: ${JSON.stringify(second)}\n\n`,
          );
          response.end();
        } else {
          // What happened while no one listened.
          server.current.set('a1', approval('a1', { state: 'denied', by: 'bob', note: 'no', answeredAt: '2026-11-26T10:01:00.000Z' }));
          server.current.set('a3', approval('a3', {}, { agent: '\u001b[2J' }));
          response.write(': listening\n\n');
        }
        return true;
      },
    });
    let streams = 0;
    let seenSoFar = '';
    const heard = (text: string): void => {
      seenSoFar += text;
      if (seenSoFar.includes('a3')) stop.abort();
    };
    const { code, out, err } = await server.cli(['approvals', 'watch', '--tool', 'payments.send'], { signal: stop.signal, heard });
    expect({ code, streams }).toEqual({ code: 0, streams: 2 });
    expect(out.split('\n').map((line) => line.split(/ {2,}/).slice(1, 5))).toEqual([
      ['pending', 'a1', 'payments.send', 'billing'],
      ['pending', 'a2', 'payments.send', 'billing'],
      ['denied', 'a1', 'payments.send', 'billing'],
      ['pending', 'a3', 'payments.send', '\\u001b[2J'],
      [],
    ]);
    expect(out).toContain('by bob: no');
    expect(err).toContain('connecting again');
  });

  test('a key that may not see approvals is told so at once', async () => {
    const { cli } = await serveApprovals({
      approvals: [],
      instead: (_, response) => {
        response.writeHead(403, { 'content-type': 'application/json' }).end('{"error":"the scope admin.approvals is needed"}');
        return true;
      },
    });
    expect(await cli(['approvals', 'watch'])).toMatchObject({ code: 1, err: expect.stringContaining('admin.approvals') });
  });
});
