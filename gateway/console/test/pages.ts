import type { Page } from 'playwright-core'
import type { ENTRANCES, PagePath, PathBelow } from '../src/routes.ts'

export interface Account {
  email: string
  password: string
  token: string
  /** Of the workspace. */
  host: string
}

const PASSWORD = 'correct horse battery staple'

/** Registers a workspace by the API. */
export async function register(gatewayUrl: string, namespace: string): Promise<Account> {
  const account = { email: `ana@${namespace}.example.com`, password: PASSWORD }
  const response = await fetch(`${gatewayUrl}/api/auth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'Ana Souza', phone: '+5511999990000', namespace, ...account }),
  })
  const { accessToken, workspace } = (await response.json()) as {
    accessToken: string
    workspace: { host: string }
  }
  return { ...account, token: accessToken, host: workspace.host }
}

/** Logs in by the form, and waits for the overview. */
export async function signIn(
  page: Page,
  gatewayUrl: string,
  { email, password }: Pick<Account, 'email' | 'password'>,
): Promise<void> {
  await page.goto(`${gatewayUrl}/console`)
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
}

/** Goes to another page of the console without loading it anew. */
export async function goInside(page: Page, path: string, wait: string): Promise<void> {
  await page.evaluate(async (to) => {
    history.pushState(null, '', to)
    dispatchEvent(new PopStateEvent('popstate'))
    for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame)
  }, `/console${path}`)
  await page
    .locator(wait)
    .first()
    .waitFor({ state: 'attached' })
    .catch((error: Error) => {
      throw new Error(`${path}: ${error.message}`)
    })
  await page.waitForFunction(() => document.querySelector('.loading') === null)
}

/** A page by its path below `/console`, and what it shows when it is there. */
type Visit = [path: string, wait: string]

/** The documents that the pages of single things show, in a workspace that `seed` has filled. */
interface Seeded {
  /** The conversation of somebody who waits for the team, by its `_id`. */
  thread: string
  message: string
  campaigns: { _id: string; state: string }[]
  template: string
  role: number
  task: number
}

/** Reads what the pages are about. `read` is a GET. */
export async function readSeeded(read: (path: string) => Promise<unknown>): Promise<Seeded> {
  const list = async <T>(path: string) => ((await read(path)) as { data: T[] }).data
  const first = async <T>(path: string): Promise<T> => {
    const [found] = await list<T>(path)
    if (found === undefined) throw new Error(`${path} has nothing yet`)
    return found
  }
  return {
    thread: (await first<{ _id: string }>('/rest/threads?q=Marta'))._id,
    message: (await first<{ _id: string }>('/rest/messages?state=dead&limit=1'))._id,
    campaigns: await list('/rest/campaigns'),
    template: (await first<{ _id: string }>('/rest/templates?q=welcome&language=pt_BR'))._id,
    role: (await first<{ _id: number }>('/rest/roles'))._id,
    task: (await first<{ _id: number }>('/rest/tasks?limit=1'))._id,
  }
}

/** By what a page's paths are in the console's own table, so that a new one is missed here by the compiler. */
type Visits = { [Page in PagePath]: { [Path in PathBelow<Page>]: Visit[] } }

/** Every page below `/console` of who has logged in. */
export function consolePages({ thread, message, campaigns, template, role, task }: Seeded): Visit[] {
  const drafts = campaigns.filter(({ state }) => state === 'draft')
  const [row, form] = ['tbody tr', 'main form']
  const visits: Visits = {
    '/': { '': [['', '.chart canvas']] },
    '/conversations': {
      '': [['/conversations', '.threads a']],
      ':id': [[`/conversations/${thread}`, '.bubble']],
    },
    '/messages': {
      '': [
        ['/messages', row],
        ['/messages?state=dead', row],
      ],
      ':id': [[`/messages/${message}`, '.timeline']],
    },
    '/assistants': {
      '': [['/assistants', row]],
      new: [['/assistants/new', '.setup-form']],
      ':resource': [
        ['/assistants/1', '.setup-form'],
        ...RESOURCES.map((one): Visit => [`/assistants/${one}`, row]),
      ],
      ':resource/:id': RESOURCES.flatMap((one): Visit[] => [
        [`/assistants/${one}/${one === 'tasks' ? task : 1}`, form],
        [`/assistants/${one}/new`, form],
      ]),
    },
    '/people': {
      '': [['/people', row]],
      segments: [['/people/segments', row]],
      'segments/:id': [
        ['/people/segments/regulars', '.card'],
        ['/people/segments/new', form],
      ],
      attributes: [['/people/attributes', row]],
      ':id': [['/people/phone:5511988887702', '.facts']],
    },
    '/campaigns': {
      '': [['/campaigns', row]],
      new: [['/campaigns/new', form]],
      ':id': campaigns.map(({ _id }): Visit => [`/campaigns/${_id}`, '.facts']),
      ':id/edit': drafts.map(({ _id }): Visit => [`/campaigns/${_id}/edit`, form]),
    },
    '/templates': {
      '': [
        ['/templates', row],
        ['/templates?q=welcome&language=pt_BR', row],
      ],
      new: [['/templates/new', form]],
      ':id': [[`/templates/${encodeURIComponent(template)}`, '.facts']],
      ':id/edit': [[`/templates/${encodeURIComponent(template)}/edit`, form]],
    },
    '/channels': {
      '': [['/channels', 'tbody .badge']],
      new: [['/channels/new', form]],
      ':id': [['/channels/1', form]],
      ':id/connect': [['/channels/1/connect', form]],
    },
    '/events': {
      '': [['/events', row]],
      new: [['/events/new', 'fieldset']],
      ':id': [['/events/1', row]],
    },
    '/team': {
      '': [['/team', row]],
      ':section': [
        ['/team/roles', row],
        ['/team/teams', '.empty'],
        ['/team/tokens', '.empty'],
        ['/team/audit', '.empty, tbody tr'],
      ],
      'roles/:id': [[`/team/roles/${role}`, '.explained']],
    },
    '/account': { '': [['/account', '.rows']] },
    '/connected': { '': [['/connected', '.failure']] },
  }
  const all = Object.values<Record<string, Visit[]>>(visits).flatMap((page) => Object.values(page).flat())
  return [...all, ['/nothing-there', '.empty']]
}

const RESOURCES = ['assistant', 'jobs', 'actions', 'configs', 'workflows', 'steps', 'tasks', 'replies']

/** Where somebody comes in, and what is shown there to who has not logged in. */
export const entrances: { [Entrance in (typeof ENTRANCES)[number]]: string } = {
  '/login': 'input[type=email]',
  '/register': 'input[type=tel]',
  '/invitation': 'input[type=password]',
  '/forgot-password': 'input[type=email]',
  '/new-password': 'input[type=password]',
}

/** The dialogs, and others that open by a button: where, and what it is called at its beginning in English. */
export const dialogs = ({ campaigns, role }: Seeded): [...Visit, button: string][] => [
  ['/messages?state=dead', 'tbody tr', 'Replay these…'],
  ['/people', 'tbody tr', 'Add a person'],
  ['/people/phone:5511988887702', '.facts', 'Erase'],
  ['/people/attributes', 'tbody tr', 'Delete'],
  ...campaigns.flatMap(({ _id, state }): [...Visit, string][] =>
    state === 'draft' ? [[`/campaigns/${_id}`, '.facts', 'Schedule…']] : [],
  ),
  ['/channels/1', 'main form', 'Replace the {label}'],
  ['/channels/1', 'main form', 'Delete'],
  ['/events/1', 'tbody tr', 'Replay since …'],
  ['/team', 'tbody tr', 'Invite somebody'],
  ['/team', 'tbody tr', 'Change {name}'],
  ['/team/roles', 'tbody tr', 'New role'],
  [`/team/roles/${role}`, '.explained', 'Change {name}'],
  ['/team/teams', '.empty', 'New team'],
  ['/team/tokens', '.empty', 'New token'],
]

/** Opens a dialog by its button, whose name is translated by `catalogue`. */
export async function openDialog(
  page: Page,
  [path, wait, button]: [...Visit, button: string],
  catalogue: Readonly<Record<string, string>> = {},
): Promise<void> {
  await goInside(page, path, wait)
  const [begin = ''] = (catalogue[button] ?? button).split('{')
  await page
    .getByRole('button', { name: new RegExp(`^${RegExp.escape(begin)}`) })
    .first()
    .click()
  await page.waitForSelector('dialog[open]')
  await page.waitForFunction(() => document.querySelector('dialog .loading') === null)
}

/** Closes it again, with nothing done. */
export async function closeDialog(page: Page): Promise<void> {
  await page.keyboard.press('Escape')
  await page.waitForSelector('dialog[open]', { state: 'detached' })
}
