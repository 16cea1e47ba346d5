// Registers an agent. The problems that the control plane names are shown at their fields.
import {
  Autocomplete,
  Button,
  Group,
  Modal,
  NumberInput,
  SimpleGrid,
  Stack,
  Switch,
  TagsInput,
  Text,
  Textarea,
  TextInput,
} from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMediaQuery } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from 'react-router';
import { ApiError, read } from '../api/client.ts';
import { useSession } from '../app/session.tsx';
import { Foreign, ForeignFrame, visible } from '../parts/foreign.tsx';
import { Refused } from '../parts/states.tsx';
import './agents.css';
import { useCountsOf, useModels } from './data.ts';

/** `name`: that of an agent that called; null: the reader writes one. */
export interface Wanted {
  readonly name: string | null;
}

export function Register({ wanted, close }: { readonly wanted: Wanted | null; readonly close: () => void }) {
  const isSmall = useMediaQuery('(max-width: 48em)');
  return (
    <Modal opened={wanted !== null} onClose={close} title="Register an agent" size="lg" fullScreen={isSmall ?? false}>
      {wanted !== null && <Form wanted={wanted} close={close} />}
    </Modal>
  );
}

const initial = {
  name: '',
  model: '',
  description: '',
  systemPrompt: '',
  enabledTools: [] as string[],
  maxToolCalls: 50 as number | string,
  maxToolRounds: 10 as number | string,
  maxDollars: 10 as number | string,
  maxMinutes: 30 as number | string,
  delegatable: true,
  canDelegate: false,
  maxDelegationDepth: '' as number | string,
};
type Fields = typeof initial;

const minuteMs = 60_000;
/** Of an agent that was seen to call: its calls do not say what it runs on, and the API wants a name. */
const unknownModel = 'unknown';

/** Fields that have another name, or another unit, than in the API. */
const ownFields: Readonly<Record<string, keyof Fields>> = { maxDurationMs: 'maxMinutes', maxBudgetCents: 'maxDollars' };

/** What is sent. A field that was left empty is absent, and gets its default. */
function bodyOf({ systemPrompt, maxDollars, maxMinutes, maxDelegationDepth, ...fields }: Fields) {
  return {
    ...fields,
    ...(systemPrompt === '' ? {} : { systemPrompt }),
    maxToolCalls: Number(fields.maxToolCalls),
    maxToolRounds: Number(fields.maxToolRounds),
    maxBudgetCents: Math.round(Number(maxDollars) * 100),
    maxDurationMs: Number(maxMinutes) * minuteMs,
    ...(maxDelegationDepth === '' ? {} : { maxDelegationDepth: Number(maxDelegationDepth) }),
  };
}

/** Splits the problems of a refusal into those of a field and others. Each begins with the place. */
function problemsOf(details: readonly string[]): {
  readonly fields: Partial<Record<keyof Fields, string>>;
  readonly others: readonly string[];
} {
  const fields: Partial<Record<keyof Fields, string>> = {};
  const others: string[] = [];
  for (const line of details) {
    const [place = ''] = /^[A-Za-z]+/.exec(line) ?? [];
    const field = ownFields[place] ?? Object.keys(initial).find((one): one is keyof Fields => one === place);
    if (field === undefined) others.push(line);
    else fields[field] = fields[field] === undefined ? line : `${fields[field]}; ${line}`;
  }
  return { fields, others };
}

function Form({ wanted, close }: { readonly wanted: Wanted; readonly close: () => void }) {
  const { api } = useSession();
  const queries = useQueryClient();
  const go = useNavigate();
  const models = useModels();
  const called = useCountsOf(wanted.name ?? undefined, 'tool', '7d');
  const form = useForm<Fields>({
    initialValues: { ...initial, name: wanted.name ?? '', model: wanted.name === null ? '' : unknownModel },
  });
  const create = useMutation({
    mutationFn: (fields: Fields) => read(api.POST('/api/v1/agents', { body: bodyOf(fields) })),
    onSuccess: async ({ id }, { name, enabledTools }) => {
      notifications.show({ title: 'Registered', message: `${visible(name).slice(0, 80)} may call ${toolCount(enabledTools.length)}.` });
      await queries.invalidateQueries({ queryKey: ['agents'] });
      close();
      void go(`/agents/${id}`);
    },
    onError: (error) => {
      if (error instanceof ApiError) form.setErrors(problemsOf(error.details).fields);
    },
  });
  const hasOwnPlace =
    create.error instanceof ApiError && create.error.details.length > 0 && problemsOf(create.error.details).others.length === 0;
  const tools = called.data?.groups.map(({ value }) => value) ?? [];
  return (
    <form onSubmit={form.onSubmit((fields) => create.mutate(fields))}>
      <Stack gap="sm">
        {wanted.name === null ? (
          <TextInput
            label="Name"
            description="What the agent calls itself. It is in every entry of the log, and policies refer to it."
            required
            data-autofocus
            {...form.getInputProps('name')}
          />
        ) : (
          <Named name={wanted.name} error={form.errors['name']} />
        )}
        <Autocomplete
          label="Model"
          description={
            wanted.name === null
              ? 'What the agent runs on, as provider/name. Runs of the control plane use it, and count its cost.'
              : 'Calls do not say what an agent runs on. Leave “unknown” if it runs elsewhere: only runs of the control plane need the model.'
          }
          required
          data={models.data?.map(({ id }) => id) ?? []}
          limit={20}
          {...form.getInputProps('model')}
        />
        {form.values.model !== unknownModel && isUnknownModel(models.data, form.values.model) && (
          <Text size="xs" c="var(--outcome-limit)" mt={-6}>
            The control plane knows no model of this name. The agent can be registered, and the control plane cannot run it.
          </Text>
        )}
        <TextInput label="Description" description="For people who read this list." {...form.getInputProps('description')} />
        <TagsInput
          label="Tools"
          description={
            'Exact names, or a prefix with * at its end, such as github.*. It may call no other tool, whatever policy says; without any it may call none.'
          }
          data={tools}
          clearable
          {...form.getInputProps('enabledTools')}
        />
        {tools.length > 0 && form.values.enabledTools.length === 0 && (
          <Called tools={tools} use={() => form.setFieldValue('enabledTools', tools)} />
        )}
        <Caps form={form} />
        <Textarea
          label="Instructions"
          description="The system prompt of its runs. Empty: a general one."
          autosize
          minRows={2}
          maxRows={8}
          {...form.getInputProps('systemPrompt')}
        />
        {create.error !== null && !hasOwnPlace && <Refused error={create.error} what="The agent was not registered" />}
        {hasOwnPlace && (
          <Text size="sm" c="var(--outcome-deny)" role="alert">
            It was not registered: see the fields that are marked.
          </Text>
        )}
        <Group justify="flex-end" className="agent-register-end">
          <Button variant="default" onClick={close}>
            Not now
          </Button>
          <Button type="submit" loading={create.isPending}>
            Register
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

const toolCount = (count: number): string => (count === 0 ? 'no tool' : count === 1 ? 'one tool or prefix' : `${count} tools or prefixes`);

/** The tools that it has called, by name, so that the reader knows what is allowed with one click. */
function Called({ tools, use }: { readonly tools: readonly string[]; readonly use: () => void }) {
  return (
    <Group gap="xs" wrap="nowrap" align="start" justify="space-between">
      <Text size="xs" c="var(--quiet)">
        In 7 days it has called{' '}
        {tools.map((tool, at) => (
          <span key={tool}>
            {at > 0 && ', '}
            <Foreign text={tool} max={60} />
          </span>
        ))}
        .
      </Text>
      <Button size="compact-xs" variant="default" onClick={use} style={{ flexShrink: 0 }}>
        Use these
      </Button>
    </Group>
  );
}

function isUnknownModel(models: ReturnType<typeof useModels>['data'], name: string): boolean {
  if (models === undefined || name === '') return false;
  return !models.some(
    (model) =>
      model.id === name || model.name === name || model.aliases.some((alias) => alias === name || `${model.provider}/${alias}` === name),
  );
}

/** The name of an agent that called. It cannot be changed: under another name it would still be unknown. */
function Named({ name, error }: { readonly name: string; readonly error: unknown }) {
  return (
    <Stack gap={4}>
      <ForeignFrame by="Name, as the agent calls itself">
        <Text p={8} fw={600} size="sm">
          <Foreign text={name} />
        </Text>
      </ForeignFrame>
      {typeof error === 'string' && (
        <Text size="xs" c="var(--outcome-deny)">
          {error}
        </Text>
      )}
    </Stack>
  );
}

function Caps({ form }: { readonly form: ReturnType<typeof useForm<Fields>> }) {
  return (
    <>
      <Text size="sm" fw={600} mt="xs">
        Caps of one run
      </Text>
      <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
        <NumberInput
          label="Tool calls"
          description="The next one ends the run"
          min={0}
          allowDecimal={false}
          {...form.getInputProps('maxToolCalls')}
        />
        <NumberInput
          label="Rounds"
          description="Of one model call and its tool calls"
          min={0}
          allowDecimal={false}
          {...form.getInputProps('maxToolRounds')}
        />
        <NumberInput
          label="Spend"
          description="Of the model and of reserved costs, in dollars"
          min={0}
          prefix="$"
          decimalScale={2}
          fixedDecimalScale
          {...form.getInputProps('maxDollars')}
        />
        <NumberInput label="Minutes" description="From the beginning to the end" min={0} {...form.getInputProps('maxMinutes')} />
      </SimpleGrid>
      <Switch label="Other agents may delegate to it" {...form.getInputProps('delegatable', { type: 'checkbox' })} />
      <Switch label="It may delegate to other agents" {...form.getInputProps('canDelegate', { type: 'checkbox' })} />
      <NumberInput
        label="Depth of its delegation"
        description="How many agents may follow it in a chain. Empty: no limit of its own."
        min={0}
        allowDecimal={false}
        {...form.getInputProps('maxDelegationDepth')}
      />
    </>
  );
}
