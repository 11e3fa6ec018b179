import type { Page } from 'playwright-core'

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

/** Every page below `/console`, and what it shows when it is there. `thread` is a conversation's `_id`, `campaigns` are those of campaigns. */
export const consolePages = (
  thread: string,
  campaigns: readonly string[] = [],
): [path: string, wait: string][] => [
  ['', '.chart canvas'],
  ['/conversations', '.threads a'],
  [`/conversations/${thread}`, '.bubble'],
  ['/messages', 'tbody tr'],
  ['/messages?state=dead', 'tbody tr'],
  ['/assistants', 'tbody tr'],
  ['/assistants/1', '.setup-form'],
  ['/assistants/new', '.setup-form'],
  ['/assistants/assistant/1', 'form'],
  ['/assistants/assistant/new', 'form'],
  ['/assistants/actions/1', '.rows'],
  ['/assistants/configs/1', 'form'],
  ['/assistants/workflows/1', '.graph'],
  ['/assistants/tasks', 'tbody tr'],
  ['/people', 'tbody tr'],
  ['/people/phone:5511988887702', '.facts'],
  ['/people/segments', 'tbody tr'],
  ['/people/segments/regulars', '.card'],
  ['/people/segments/new', 'form'],
  ['/people/attributes', 'tbody tr'],
  ['/campaigns', 'tbody tr, .empty'],
  ...campaigns.map((id): [string, string] => [`/campaigns/${id}`, '.facts']),
  ['/campaigns/new', 'form'],
  ['/templates', 'tbody tr'],
  ['/templates?q=welcome&language=pt_BR', 'tbody tr'],
  ['/templates/new', 'form'],
  ['/channels', 'tbody .badge'],
  ['/channels/1', 'form'],
  ['/channels/new', 'form'],
  ['/events', 'tbody tr'],
  ['/events/1', 'tbody tr'],
  ['/events/new', 'fieldset'],
  ['/team', 'tbody tr'],
  ['/team/roles', 'tbody tr'],
  ['/team/tokens', '.empty'],
  ['/team/audit', '.empty, tbody tr'],
  ['/account', '.rows'],
  ['/nothing-there', '.empty'],
]
