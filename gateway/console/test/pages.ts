import type { Page } from 'playwright-core'

export interface Account {
  email: string
  password: string
  token: string
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
  const { accessToken } = (await response.json()) as { accessToken: string }
  return { ...account, token: accessToken }
}

/** Logs in by the form, and waits for the overview. */
export async function signIn(
  page: Page,
  gatewayUrl: string,
  { email, password }: Omit<Account, 'token'>,
): Promise<void> {
  await page.goto(`${gatewayUrl}/console`)
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
}
