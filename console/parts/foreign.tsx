// Text and JSON from agents, tools and inputs. React escapes markup; this shows what would not be visible, keeps the
// direction of writing inside, and cuts what is long.
import { Button, Code, Stack } from '@mantine/core';
import { useState } from 'react';

/** Control characters, invisible characters, and characters that change the direction of writing. */
const invisible =
  /[\u034f\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0]|[\u{e0000}-\u{e0fff}]/gu;

/** Replaces characters that are not visible by their code points, such as `\u202e`. */
export const visible = (text: string): string =>
  text.replaceAll(invisible, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, '0')}`;
  });

const shortLength = 200;

/** One line of text from outside. `max`: characters that are shown. */
export function Foreign({ text, max = shortLength }: { readonly text: string; readonly max?: number }) {
  const shown = visible(text.slice(0, max));
  return (
    <bdi className="foreign" title={text.length > max ? `${text.length.toLocaleString()} characters` : undefined}>
      {shown}
      {text.length > max ? '…' : ''}
    </bdi>
  );
}

const blockLength = 4_000;

/** A value from outside as JSON. The rest of a long one is shown on demand, up to a bound. */
export function ForeignJson({ value }: { readonly value: unknown }) {
  const [length, setLength] = useState(blockLength);
  const text = JSON.stringify(value, null, 2) ?? 'nothing';
  return (
    <Stack gap="xs" align="start">
      <Code block w="100%" className="foreign" style={{ whiteSpace: 'pre-wrap' }} tabIndex={0}>
        {visible(text.slice(0, length))}
        {text.length > length ? '…' : ''}
      </Code>
      {text.length > length && (
        <Button size="compact-xs" variant="default" onClick={() => setLength(length + 20_000)}>
          Show more ({(text.length - length).toLocaleString()} characters are not shown)
        </Button>
      )}
    </Stack>
  );
}
