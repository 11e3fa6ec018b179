import type { ComponentType } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { call, logOut, unreachable } from './api.ts'
import { Button, Dialog, LeaveQuestion, Notices, notify } from './components/actions.tsx'
import { Failure, Icon, type IconName, Loading, NotFound } from './components/basics.tsx'
import { useKeys } from './components/keyboard.ts'
import { lazyPage } from './components/lazy-page.tsx'
import { followLanguage, t } from './language.ts'
import { useLoad } from './load.ts'
import { shareNoticeSettings } from './notices.ts'
import { ConnectedPage } from './pages/connected.tsx'
import { ConversationsPage } from './pages/conversations.tsx'
import { LoginPage } from './pages/login.tsx'
import { MessagesPage } from './pages/messages.tsx'
import { OverviewPage } from './pages/overview.tsx'
import { roleInWords } from './people.ts'
import { RESOURCES } from './resources.ts'
import { type Me, may, me } from './rights.ts'
import { hrefOf, leaveTo, navigate, type PageProps, usePlace } from './router.ts'
import type { PagePath } from './routes.ts'
import { account, session } from './session.ts'
import { followLive } from './shared-stream.ts'
import { useStore } from './store.ts'
import { useFollowedTeams } from './teams.ts'
import { chooseTheme, THEMES, theme } from './theme.ts'
import { useNotices, useUnread } from './unread.ts'
import { mayLeave } from './unsaved.ts'
import { wordOf } from './words.ts'

interface PageEntry {
  path: PagePath
  name: string
  icon: IconName
  key: string
  /** It is led to from elsewhere than the menu. */
  isAside?: true
  /** Shown to who may read one of these; to everybody when left out. */
  reads?: string[]
  page: ComponentType<PageProps>
}

const ASKING_MS = 5_000

const setUp = async () => (await import('./pages/set-up-pages.ts')).setUpPages
const audience = async () => (await import('./pages/audience-pages.ts')).audiencePages

const PAGES: readonly PageEntry[] = [
  { path: '/', name: t('Overview'), icon: 'gauge', key: 'o', page: OverviewPage },
  {
    ...{ path: '/conversations', name: t('Conversations'), icon: 'chat', key: 't', page: ConversationsPage },
    reads: ['threads'],
  },
  { path: '/messages', name: t('Messages'), icon: 'list', key: 'm', reads: ['messages'], page: MessagesPage },
  {
    path: '/assistants',
    name: t('Assistants'),
    icon: 'spark',
    key: 'a',
    reads: RESOURCES.map((resource) => resource.path),
    page: lazyPage(async () => (await setUp()).assistants),
  },
  {
    ...{ path: '/people', name: t('People'), icon: 'person', key: 'p', reads: ['people', 'segments'] },
    page: lazyPage(async () => (await audience()).people),
  },
  {
    ...{ path: '/campaigns', name: t('Campaigns'), icon: 'horn', key: 'n', reads: ['campaigns'] },
    page: lazyPage(async () => (await audience()).campaigns),
  },
  {
    ...{ path: '/templates', name: t('Templates'), icon: 'sheet', key: 'l', reads: ['templates'] },
    page: lazyPage(async () => (await audience()).templates),
  },
  {
    path: '/channels',
    name: t('Channels'),
    icon: 'plug',
    key: 'c',
    reads: ['channels'],
    page: lazyPage(async () => (await setUp()).channels),
  },
  {
    ...{
      path: '/events',
      name: t('Events'),
      icon: 'bolt',
      key: 'e',
      page: lazyPage(async () => (await setUp()).events),
    },
    reads: ['subscriptions'],
  },
  {
    ...{
      path: '/team',
      name: t('Team'),
      icon: 'people',
      key: 'u',
      page: lazyPage(async () => (await setUp()).team),
    },
    reads: ['users', 'roles', 'teams', 'tokens', 'audit'],
  },
  {
    path: '/account',
    name: t('My account'),
    icon: 'people',
    key: 'y',
    isAside: true,
    page: lazyPage(async () => (await setUp()).account),
  },
  { path: '/connected', name: t('Connected'), icon: 'plug', key: '', isAside: true, page: ConnectedPage },
]

/** The console: the login, or the pages that the caller may see. */
export function App() {
  const signedIn = useStore(session)
  const current = useStore(account)
  // Text that a user typed before their session ended is there once they have logged in again.
  const owner = useRef(current)
  if (signedIn !== 'ended') owner.current = current
  const hasEnded = signedIn === 'ended'
  return (
    <>
      <Banner />
      {signedIn === 'unknown' && <Opening />}
      {(signedIn === 'out' || hasEnded) && <LoginPage key={signedIn} hasEnded={hasEnded} />}
      {(signedIn === 'in' || hasEnded) && (
        <div key={owner.current} hidden={hasEnded}>
          <Shell />
        </div>
      )}
      <LeaveQuestion />
      <Notices />
    </>
  )
}

/** The opening screen, which the page also shows before any script runs. */
const Opening = () => (
  <main class="lonely">
    <p class="logo">
      <Icon name="logo" /> Parley
    </p>
    <Loading />
  </main>
)

/** Says what can't be reached, until it can be reached again. */
function Banner() {
  const names = useStore(unreachable)
  return (
    <div role="status" aria-live="polite">
      {names.size > 0 && (
        <p class="banner">
          <Asking />
          {names.has('gateway')
            ? t('The gateway can’t be reached. What you see may be old; it goes on by itself.')
            : names.size === 1 && names.has('events')
              ? t('What happens is not told live at the moment; the lists ask every few seconds.')
              : t('A service is unavailable, so some of this may be old. It goes on by itself.')}
        </p>
      )}
    </div>
  )
}

/** Asks the gateway whether it is back, one request after another: those that hang would take all connections. */
function Asking() {
  const ask = (signal: AbortSignal) =>
    call('GET', '/health/live', { signal: AbortSignal.any([signal, AbortSignal.timeout(ASKING_MS)]) })
  useLoad('health', ask, { everyMs: 1_000 })
  return null
}

function Shell() {
  const { path, query } = usePlace()
  const caller = useLoad('me', (signal) => call<Me>('POST', '/api/auth/me', { signal }), {
    everyMs: 60_000,
  })
  const known = useStore(me)
  useEffect(() => {
    me.set(caller.data)
    if (caller.data !== undefined) shareNoticeSettings(caller.data.preferences.notices)
  }, [caller.data])
  useEffect(() => () => me.set(undefined), [])
  const isKnown = known !== undefined
  // A language that is chosen elsewhere meanwhile waits for the next load, so that nothing changes while somebody types.
  useEffect(() => {
    if (isKnown) followLanguage(known.preferences.language)
  }, [isKnown])
  const role = known === undefined ? undefined : JSON.stringify(known.role)
  const signedIn = useStore(account)
  // The read rights of the role decide whether there is a stream.
  useEffect(() => {
    if (role === undefined) return
    const stop = new AbortController()
    followLive(stop.signal)
    return () => stop.abort()
  }, [role, signedIn])
  if (known === undefined) {
    const { error } = caller
    return error ? (
      <main class="lonely">
        <Failure error={error} />
      </main>
    ) : (
      <Opening />
    )
  }
  const pages = PAGES.filter(
    ({ reads }) => reads === undefined || reads.some((resource) => may('read', resource)),
  )
  const [, first = '', ...rest] = path.split('/')
  const current = pages.find((page) => page.path === `/${first}`)
  const Page = current?.page
  return (
    <div class="shell">
      <a class="skip" href="#main">
        {t('Skip to the content')}
      </a>
      <Navigation pages={pages} current={current} caller={known} />
      <Noticing />
      <main id="main" tabIndex={-1}>
        {Page ? <Page key={current.path} rest={rest} query={query} /> : <Elsewhere path={path} />}
      </main>
      <Keys pages={pages} />
    </div>
  )
}

const LOGGED_IN: Partial<Record<string, string>> = {
  '/invitation': t('The invitation is for a new account: log out to accept it.'),
  '/new-password': t('Log out to set a new password.'),
}

/** The pages for users who have not logged in yet, and the one for addresses without a page. */
function Elsewhere({ path }: { path: string }) {
  const isEntrance = ['/login', '/register', '/forgot-password'].includes(path)
  useEffect(() => {
    if (isEntrance) navigate('/', { replace: true })
  }, [isEntrance])
  if (isEntrance) return <Loading />
  const why = LOGGED_IN[path]
  if (why === undefined) return <NotFound />
  return (
    <div class="empty">
      <h1 class="empty-title">{t('You are logged in already')}</h1>
      <p class="quiet">{why}</p>
      <Button kind="primary" onClick={leave}>
        {t('Log out')}
      </Button>
    </div>
  )
}

/** Tells of what is written; for who may read it. */
function Noticing() {
  useFollowedTeams()
  useNotices()
  return null
}

async function leave(): Promise<void> {
  if (!(await mayLeave())) return
  if (!(await logOut()))
    notify(t('You are still signed in: the session could not be ended. Log out again.'), 'bad')
}

interface NavigationProps {
  pages: readonly PageEntry[]
  current: PageEntry | undefined
  caller: Me
}

function Navigation({ pages, current, caller }: NavigationProps) {
  const [open, setOpen] = useState(false)
  const { path } = usePlace()
  const chosen = useStore(theme)
  const unread = useUnread()
  // Going elsewhere closes the menu.
  useEffect(() => setOpen(false), [path])
  return (
    <header class={open ? 'side open' : 'side'}>
      <div class="brand">
        <a href={hrefOf('/')} class="logo">
          <Icon name="logo" /> Parley
        </a>
        <button
          type="button"
          class="menu"
          aria-expanded={open}
          aria-controls="navigation"
          onClick={() => setOpen(!open)}
        >
          {t('Menu')}
        </button>
      </div>
      <div class="side-body" id="navigation">
        <nav aria-label={t('Pages')}>
          {pages
            .filter(({ isAside }) => !isAside)
            .map((page) => (
              <a
                key={page.path}
                href={hrefOf(page.path)}
                aria-current={page === current ? 'page' : undefined}
              >
                <Icon name={page.icon} />
                {page.name}
                {page.path === '/conversations' && unread !== '' && (
                  <span class="unread">
                    {unread}
                    <span class="hidden"> {t('unread')}</span>
                  </span>
                )}
              </a>
            ))}
        </nav>
        <div class="who">
          <p class="who-workspace" title={caller.workspace.host}>
            {caller.workspace.name}
          </p>
          <p class="quiet" title={caller.username}>
            <a href={hrefOf('/account')}>{caller.name}</a> · {roleInWords(caller.role.name)}
          </p>
          <div class="actions">
            <select
              class="small"
              aria-label={t('Theme')}
              value={chosen}
              onChange={(event) => chooseTheme(event.currentTarget.value)}
            >
              {THEMES.map((name) => (
                <option key={name} value={name}>
                  {wordOf(name)}
                </option>
              ))}
            </select>
            <Button small onClick={leave}>
              {t('Log out')}
            </Button>
          </div>
        </div>
      </div>
    </header>
  )
}

/** The keys that work everywhere, and what `?` shows of them. */
function Keys({ pages: all }: { pages: readonly PageEntry[] }) {
  const pages = all.filter(({ key }) => key !== '')
  const [open, setOpen] = useState(false)
  const [leading, setLeading] = useState(false)
  const go = (page: PageEntry) => {
    if (leading) void leaveTo(page.path)
    setLeading(false)
  }
  useKeys({
    ...(leading ? Object.fromEntries(pages.map((page) => [page.key, () => go(page)])) : {}),
    g: () => setLeading(true),
    '?': () => setOpen(true),
    '/': () => document.querySelector<HTMLInputElement>('[data-search] input')?.focus(),
  })
  useEffect(() => {
    if (!leading) return
    const timer = setTimeout(() => setLeading(false), 1_500)
    return () => clearTimeout(timer)
  }, [leading])
  if (!open) return null
  return (
    <Dialog title={t('Keys')} onClose={() => setOpen(false)}>
      <dl class="keys">
        {[
          ['/', t('Search')],
          ['j k', t('Next and previous row')],
          ['Enter', t('Open the row')],
          ['x', t('Select the conversation')],
          ...pages.map(({ key, name }) => [`g ${key}`, name] as const),
          ['?', t('These keys')],
          ['Esc', t('Close a dialog')],
        ].map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}
