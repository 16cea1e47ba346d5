// Keys without a modifier, such as j and k. They do nothing while a person writes or a dialog is open, and can be turned
// off, because a voice control may press them by accident.
import { Group, Kbd, Switch, Text } from '@mantine/core';
import { useLocalStorage } from '@mantine/hooks';
import { useEffect, useRef } from 'react';

export interface KeyAction {
  readonly key: string;
  readonly what: string;
  readonly run: () => void;
}

const useKeysOn = () => useLocalStorage({ key: 'tollgate-keys', defaultValue: true, getInitialValueInEffect: false });

const writes = 'input:not([type="checkbox"], [type="radio"]), textarea, select, [contenteditable="true"]';
const pressed = 'a, button, [role="button"], summary';

/** A key that is held down runs its action once. Enter belongs to the link or button that has the focus. */
export function useKeys(actions: readonly KeyAction[]): void {
  const [isOn] = useKeysOn();
  const latest = useRef(actions);
  useEffect(() => {
    latest.current = actions;
  });
  useEffect(() => {
    if (!isOn) return undefined;
    const onKey = (event: KeyboardEvent): void => {
      if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (document.querySelector('[role="dialog"][aria-modal="true"]') !== null) return;
      const target = event.target instanceof Element ? event.target : null;
      if (target?.closest(writes) || (event.key === 'Enter' && target?.closest(pressed))) return;
      const action = latest.current.find(({ key }) => key === event.key);
      if (action === undefined) return;
      event.preventDefault();
      action.run();
    };
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  }, [isOn]);
}

/** Says which keys there are. Hidden where there is no keyboard. */
export function KeyHints({ actions }: { readonly actions: readonly KeyAction[] }) {
  const [isOn, setOn] = useKeysOn();
  return (
    <Group gap="md" className="key-hints" visibleFrom="sm">
      {isOn &&
        actions.map(({ key, what }) => (
          <Group key={key} gap={6} wrap="nowrap">
            <Kbd size="xs">{key}</Kbd>
            <Text size="xs" c="var(--quiet)">
              {what}
            </Text>
          </Group>
        ))}
      <Switch size="xs" label="Keys" checked={isOn} onChange={(event) => setOn(event.currentTarget.checked)} />
    </Group>
  );
}
