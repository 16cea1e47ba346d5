// Text and JSON from agents, tools and inputs. React escapes markup; this shows what would not be visible, keeps the
// direction of writing inside, cuts what is long, and marks longer texts with a frame that only they have.
import { Button, Stack, Text } from '@mantine/core';
import { Fragment, type ReactNode, useEffect, useMemo, useState } from 'react';
import './foreign.css';
import { codePointOf, partsOf, visible } from './unseen.ts';

export { visible };

const shortLength = 200;

/** One line of text from outside. `max`: characters that are shown. */
export function Foreign({ text, max = shortLength }: { readonly text: string; readonly max?: number }) {
  return (
    <bdi className="foreign" dir="ltr" title={text.length > max ? `${text.length.toLocaleString()} characters` : undefined}>
      {text === '' ? <span className="unseen">empty</span> : seenParts(text.slice(0, max), '')}
      {text.length > max ? '…' : ''}
    </bdi>
  );
}

/**
 * A character that is not seen is shown as its code point in a box, which no text can imitate. A letter that looks like
 * another one stays, and has its code point after it.
 */
const seenParts = (text: string, keep: string, isJson = false): readonly ReactNode[] =>
  partsOf(text, keep, isJson).map((part, at) =>
    part.isAlike === true ? (
      <span key={at} className="alike" title={`${codePointOf(part.text)}: it looks like another letter`}>
        {part.text}
        <span className="unseen">{codePointOf(part.text)}</span>
      </span>
    ) : part.isUnseen ? (
      <span key={at} className="unseen">
        {codePointOf(part.text)}
      </span>
    ) : (
      <Fragment key={at}>{part.text}</Fragment>
    ),
  );

/** The frame around a text from outside. `by`: who wrote it, in our words. */
export function ForeignFrame({ by, children }: { readonly by: string; readonly children: ReactNode }) {
  return (
    <figure className="foreign-frame">
      <figcaption>{by}</figcaption>
      {children}
    </figure>
  );
}

const blockLength = 4_000;
const moreLength = 20_000;
/** A browser lays out a part when it comes near the screen. */
const partLength = 8_000;

interface BlockProps {
  readonly text: string;
  /** Who wrote it, such as `input, by the agent`. */
  readonly by: string;
  /** Characters that are shown at first. */
  readonly first?: number;
  /** Called with true as soon as the whole text is shown. */
  readonly onWhole?: (isWhole: boolean) => void;
  /** It is JSON, whose escapes are no words. */
  readonly isJson?: boolean;
}

/** A text from outside of any length, in a frame. The rest of a long one is shown on demand, in full. */
export function ForeignBlock({ text, by, first = blockLength, onWhole, isJson = false }: BlockProps) {
  const [length, setLength] = useState(first);
  const isWhole = text.length <= length;
  useEffect(() => {
    onWhole?.(isWhole);
  }, [isWhole, onWhole]);
  const parts = useMemo(() => chunksOf(text.slice(0, length)), [text, length]);
  const left = text.length - length;
  return (
    <Stack gap="xs" align="stretch">
      <ForeignFrame by={by}>
        <pre className="foreign foreign-text" dir="ltr" tabIndex={0} aria-label={by}>
          {parts.map((part, at) => (
            <span key={at} className={parts.length > 1 ? 'foreign-part' : undefined}>
              {seenParts(part, '\n\t', isJson)}
            </span>
          ))}
        </pre>
      </ForeignFrame>
      {left > 0 && (
        <Stack gap={4} align="start">
          <Text size="sm" c="var(--outcome-limit)">
            {left.toLocaleString()} of {text.length.toLocaleString()} characters are not shown.
          </Text>
          <Button.Group>
            {left > moreLength && (
              <Button size="compact-sm" variant="default" onClick={() => setLength(length + moreLength)}>
                Show {moreLength.toLocaleString()} more
              </Button>
            )}
            <Button size="compact-sm" variant="default" onClick={() => setLength(text.length)}>
              Show all of it
            </Button>
          </Button.Group>
        </Stack>
      )}
    </Stack>
  );
}

/** Cuts a text at ends of lines where they are near, and between whole characters. */
function chunksOf(text: string): readonly string[] {
  const chunks: string[] = [];
  for (let from = 0; from < text.length; ) {
    let end = Math.min(text.length, from + partLength);
    if (end < text.length) {
      const line = text.lastIndexOf('\n', end - 1) + 1;
      if (line > from) end = line;
      else if (/[\ud800-\udbff]/.test(text.charAt(end - 1))) end -= 1;
    }
    chunks.push(text.slice(from, end));
    from = end;
  }
  return chunks;
}

/** A value from outside as JSON. The rest of a long one is shown on demand. */
export function ForeignJson({ value, by = 'JSON, as it was received' }: { readonly value: unknown; readonly by?: string }) {
  return <ForeignBlock text={JSON.stringify(value, null, 2) ?? 'nothing'} by={by} isJson />;
}
