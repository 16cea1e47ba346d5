// Header and navigation around every page.
import {
  ActionIcon,
  AppShell,
  Burger,
  Button,
  Group,
  Kbd,
  Menu,
  NavLink,
  Text,
  Tooltip,
  UnstyledButton,
  useMantineColorScheme,
} from '@mantine/core';
import { useDisclosure, useHotkeys } from '@mantine/hooks';
import { lazy, Suspense } from 'react';
import { Link, Outlet, useLocation } from 'react-router';
import { WaitingCount } from '../approvals/waiting-count.tsx';
import { Freeze, FrozenBanner } from '../freeze/freeze.tsx';
import { Lost } from '../parts/lost.tsx';
import { pages } from './pages.ts';
import { useSession } from './session.tsx';
import { useWorkspaceState } from './workspace-state.ts';

const Search = lazy(() => import('./search.tsx'));

export function Shell() {
  const [isOpen, { toggle, close }] = useDisclosure(false);
  const [isSearching, search] = useDisclosure(false);
  useHotkeys([['mod+K', search.open]], []);
  const { workspace } = useSession();
  const state = useWorkspaceState(workspace);
  const isMac = navigator.platform.startsWith('Mac');
  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 208, breakpoint: 'sm', collapsed: { mobile: !isOpen } }}
      padding={{ base: 'sm', sm: 'lg' }}
    >
      <a href="#page" className="skip">
        To the page
      </a>
      <AppShell.Header bg="var(--card)">
        <Group h="100%" px="md" justify="space-between" wrap="nowrap" gap="xs">
          <Group gap="xs" wrap="nowrap">
            <Burger
              opened={isOpen}
              onClick={toggle}
              hiddenFrom="sm"
              size="sm"
              aria-label={isOpen ? 'Close the navigation' : 'Open the navigation'}
            />
            <UnstyledButton component={Link} to="/" aria-label="Tollgate: overview">
              <Group gap={8} wrap="nowrap">
                <img src="/console/icon.svg" width={24} height={24} alt="" />
                <Text fw={650} visibleFrom="xs">
                  Tollgate
                </Text>
              </Group>
            </UnstyledButton>
            <Workspaces />
          </Group>
          <Group gap="xs" wrap="nowrap">
            <Button
              variant="default"
              size="xs"
              onClick={search.open}
              rightSection={<Kbd size="xs">{isMac ? '⌘K' : 'Ctrl K'}</Kbd>}
              visibleFrom="sm"
            >
              Go to
            </Button>
            <ActionIcon variant="default" size={30} onClick={search.open} hiddenFrom="sm" aria-label="Go to a page, an agent or a call">
              <PageIcon path="M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10M10.6 10.6 14 14" />
            </ActionIcon>
            <Freeze />
            <Account />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs" bg="var(--card)">
        <Navigation onOpened={close} />
      </AppShell.Navbar>
      <AppShell.Main id="page" tabIndex={-1}>
        <Lost state={state} />
        <FrozenBanner />
        <Outlet />
      </AppShell.Main>
      <Suspense>{isSearching && <Search close={search.close} />}</Suspense>
    </AppShell>
  );
}

function Navigation({ onOpened }: { readonly onOpened: () => void }) {
  const { pathname } = useLocation();
  const { may } = useSession();
  return pages.map(({ path, name, icon, scope, roles }) => {
    const { why } = may(scope, roles);
    const isHere = path === '' ? pathname === '/' : pathname === `/${path}` || pathname.startsWith(`/${path}/`);
    const link = (
      <NavLink
        key={path}
        component={Link}
        to={`/${path}`}
        label={name}
        leftSection={<PageIcon path={icon} />}
        rightSection={path === 'approvals' ? <WaitingCount /> : undefined}
        active={isHere}
        aria-current={isHere ? 'page' : undefined}
        disabled={why !== null}
        onClick={onOpened}
      />
    );
    return why === null ? (
      link
    ) : (
      <Tooltip key={path} label={why} multiline w={220} events={{ hover: true, focus: true, touch: true }}>
        <div role="note" tabIndex={0} aria-label={`${name}: ${why}`}>
          {link}
        </div>
      </Tooltip>
    );
  });
}

function PageIcon({ path }: { readonly path: string }) {
  return (
    <svg
      width="16"
      height="16"
      viewBox="0 0 16 16"
      aria-hidden="true"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.6"
      strokeLinecap="round"
      strokeLinejoin="round"
    >
      <path d={path} />
    </svg>
  );
}

/** The workspace, and the others of the same person. Another one has a session of its own, so it is signed in to. */
function Workspaces() {
  const { workspace, workspaces } = useSession();
  const others = workspaces.filter((one) => one !== workspace);
  if (others.length === 0) return <Text c="var(--quiet)">{workspace}</Text>;
  return (
    <Menu>
      <Menu.Target>
        <Button variant="default" size="xs" aria-label={`Workspace ${workspace}; change it`}>
          {workspace} ▾
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {others.map((one) => (
          <Menu.Item key={one} component="a" href={`/${one}/admin/session/oidc?return=${encodeURIComponent('/console/')}`}>
            {one}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

function Account() {
  const { sub, role, email, signOut } = useSession();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon variant="default" size={30} radius="xl" aria-label="Your account">
          <PageIcon path="M8 7a3 3 0 1 0 0-6 3 3 0 0 0 0 6M2 15c0-3.5 2.5-5.5 6-5.5s6 2 6 5.5" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          {email ?? sub}, {role}
        </Menu.Label>
        {(['light', 'dark', 'auto'] as const).map((scheme) => (
          <Menu.Item key={scheme} onClick={() => setColorScheme(scheme)} rightSection={scheme === colorScheme ? '✓' : null}>
            {scheme === 'auto' ? 'As the system' : scheme === 'light' ? 'Light' : 'Dark'}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item onClick={() => void signOut()}>Sign out</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
