// Signs in with a key, or with the issuer. The key is exchanged for a session and kept nowhere.
import { Button, Card, Center, Divider, Group, PasswordInput, Stack, Text, TextInput, Title } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { createApi, read } from '../api/client.ts';
import { sessionKey } from '../app/session.tsx';
import { Refused } from '../parts/states.tsx';
import { linkRefusal } from './link.ts';

/** The workspace is a part of the key. */
const keyForm = /^gsk_([a-z0-9](?:[a-z0-9-]*[a-z0-9])?)_[A-Za-z0-9_-]+$/;
const slugForm = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/;

export function SignIn() {
  const refusal = linkRefusal();
  const ways = useQuery({ queryKey: ['sign-in'], queryFn: () => read(createApi(null).GET('/api/v1/sign-in')) });
  useEffect(() => {
    document.title = 'Sign in · Tollgate';
  }, []);
  return (
    <Center mih="100dvh" p="md" component="main">
      <Card withBorder w="100%" maw={420} p="lg" bg="var(--card)">
        <Stack>
          <Group gap="xs">
            <img src="/console/icon.svg" width={28} height={28} alt="" />
            <Title order={1} size="h3">
              Sign in to Tollgate
            </Title>
          </Group>
          {refusal !== null && <Refused error={refusal} what="The link did not sign you in" />}
          <WithKey />
          {ways.data?.oidc === true && (
            <>
              <Divider label="or" />
              <WithIssuer />
            </>
          )}
          <Text size="xs" c="var(--quiet)">
            No key? On the machine of the control plane, <code>npm start</code> on a terminal prints a link that signs you in once.
          </Text>
        </Stack>
      </Card>
    </Center>
  );
}

function WithKey() {
  const queries = useQueryClient();
  const form = useForm({
    initialValues: { key: '' },
    validate: {
      key: (text) => (keyForm.test(text.trim()) ? null : 'A key has the form gsk_<workspace>_<random>; this does not.'),
    },
  });
  const open = useMutation({
    mutationFn: async (key: string) => {
      const workspace = keyForm.exec(key)?.[1] ?? '';
      return read(
        createApi(null).POST('/{workspace}/admin/session', {
          params: { path: { workspace } },
          headers: { Authorization: `Bearer ${key}` },
        }),
      );
    },
    onSuccess: async () => {
      form.reset();
      await queries.invalidateQueries({ queryKey: sessionKey });
    },
  });
  return (
    <form onSubmit={form.onSubmit(({ key }) => open.mutate(key.trim()))}>
      <Stack>
        <PasswordInput
          label="API key"
          description="The console may do what this key may do. The key is not stored."
          placeholder="gsk_…"
          autoComplete="off"
          autoFocus
          {...form.getInputProps('key')}
        />
        {open.error !== null && <Refused error={open.error} what="You could not be signed in" />}
        <Button type="submit" loading={open.isPending}>
          Sign in with the key
        </Button>
      </Stack>
    </form>
  );
}

function WithIssuer() {
  const form = useForm({
    initialValues: { workspace: 'default' },
    validate: { workspace: (text) => (slugForm.test(text) ? null : 'A workspace has a name of small letters, digits and -.') },
  });
  const begin = ({ workspace }: { readonly workspace: string }): void => {
    const here = `${location.pathname}${location.search}`;
    location.assign(`/${workspace}/admin/session/oidc?return=${encodeURIComponent(here)}`);
  };
  return (
    <form onSubmit={form.onSubmit(begin)}>
      <Stack>
        <TextInput label="Workspace" {...form.getInputProps('workspace')} />
        <Button type="submit" variant="default">
          Sign in with your organisation
        </Button>
        <Text size="xs" c="var(--quiet)">
          You are sent to the sign-in of your organisation, and back.
        </Text>
      </Stack>
    </form>
  );
}
