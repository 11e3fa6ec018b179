import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { startedForTests } from '@parley/local/testing/started-for-tests'
import { startMailServer } from '../../../services/identity/test/mail-server.ts'
import { consoleSystem } from './console-system.ts'
import { register, signIn } from './pages.ts'

const PUBLIC_URL = 'https://parley.example'
const SETTINGS = ['SMTP_URL', 'MAIL_FROM', 'PUBLIC_URL']

const mailServer = startedForTests(startMailServer)
// Processes have the environment of whoever starts them, as with `npm start`.
beforeAll(() => {
  Object.assign(process.env, { SMTP_URL: mailServer.url, MAIL_FROM: 'parley@example.com', PUBLIC_URL })
})
afterAll(() => {
  for (const name of SETTINGS) delete process.env[name]
})
const system = consoleSystem()
const { onPage, open } = system

test('who has forgotten their password sets a new one by a mail, in the language of their browser', async () => {
  const shop = await register(system.url, 'padaria')
  await onPage({ locale: 'pt-BR' }, async (page) => {
    await open(page, '/login', 'input[type=email]')
    await page.getByRole('link', { name: 'Esqueceu a senha?' }).click()
    await page.getByLabel('E-mail').fill(shop.email)
    await page.getByRole('button', { name: 'Pedir um link' }).click()
    await page.getByText('um link está a caminho por e-mail').waitFor()
    const { text } = await mailServer.next(shop.email)
    expect(text).toContain('Alguém pediu')
    const link = /https:\S+/.exec(text)?.[0] ?? ''
    await page.goto(link.replace(PUBLIC_URL, system.url))
    await page.getByLabel('Nova senha').fill('outra bateria de cavalo')
    await page.getByRole('button', { name: 'Definir uma nova senha' }).click()
    await page.locator('.shell').waitFor()
  })
  const { status } = await system.parley.call('POST', '/api/auth/login', {
    body: { username: shop.email, password: shop.password },
  })
  expect(status).toBe(401)
})

test('an administrator hands a link over, which is used once', async () => {
  const { garden, parley, url } = system
  const ivo = {
    name: 'Ivo',
    email: 'ivo@example.com',
    phone: '',
    password: 'old horse battery',
    role: 'VIEWER',
  }
  expect((await parley.call('POST', '/rest/users', { body: ivo, token: garden.token })).status).toBe(200)
  const link = await onPage({}, async (page) => {
    await signIn(page, url, garden)
    await open(page, '/team', 'tbody tr')
    await page.getByRole('button', { name: 'Change Ivo' }).click()
    await page.getByRole('button', { name: 'Make a link for a new password' }).click()
    const shown = (await page.locator('dialog code').textContent()) ?? ''
    await page.goto(shown)
    await page.getByText('Log out to set a new password.').waitFor()
    return shown
  })
  await onPage({}, async (page) => {
    await page.goto(link)
    await page.getByLabel('New password').fill('new horse battery')
    await page.getByRole('button', { name: 'Set a new password' }).click()
    await page.locator('.shell').waitFor()
  })
  await onPage({}, async (page) => {
    await page.goto(link)
    await page.getByLabel('New password').fill('newer horse battery')
    await page.getByRole('button', { name: 'Set a new password' }).click()
    await page.getByText('The link for a new password is not valid any more').waitFor()
    await signIn(page, url, { ...ivo, password: 'new horse battery' })
  })
})
