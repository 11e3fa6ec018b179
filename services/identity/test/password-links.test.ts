import { createServer } from 'node:net'
import { beforeEach, describe, expect, test } from '@jest/globals'
import type { Parsed } from '@parley/local/testing/service-under-test'
import { startedForTests } from '@parley/local/testing/started-for-tests'
import { waitUntil } from '@parley/local/wait-until'
import { LANGUAGES } from '@parley/shared/languages'
import { linkMail } from '../src/password-links/mail-texts.ts'
import { administeredWorkspace } from './administered-workspace.ts'
import { type IdentityServer, newRegistration, startIdentity } from './identity-server.ts'
import { startMailServer } from './mail-server.ts'

const CONSOLE = 'https://parley.example/console/new-password#'
const MAIL = { MAIL_FROM: 'Parley <parley@example.com>', PUBLIC_URL: 'https://parley.example/' }
const NEW = 'a new horse battery'
const ALL = '{{account.workspace._id}}'
const INVALID = [401, 'invalid_password_link']

const resetAt = async (identity: IdentityServer, token: string, password = NEW) => {
  const { status, json } = await identity.call('POST', '/api/auth/reset-password', {
    body: { token, password },
  })
  return [status, json.code ?? json.username]
}

test.each(LANGUAGES)('the mail in $name has the link on a line of its own, once', ({ tag }) => {
  const { subject, text } = linkMail(tag, `${CONSOLE}x`)
  expect(text.split('\n').filter((line) => line.includes(CONSOLE))).toEqual([`${CONSOLE}x`])
  expect(subject).toMatch(/Parley$/)
})

describe('a link that is mailed', () => {
  const mailServer = startedForTests(startMailServer)
  const identity = startedForTests(() => startIdentity({ SMTP_URL: mailServer.url, ...MAIL }))
  let user: { email: string; password: string }
  let admin: Parsed
  beforeEach(async () => {
    user = newRegistration()
    admin = await identity.register(user)
  })

  const ask = (email: string, headers: Record<string, string> = {}) =>
    identity.call('POST', '/api/auth/forgot-password', { body: { email }, headers })
  const linkTo = async (email: string) => {
    const { text } = await mailServer.next(email)
    return /\S+#(\S+)/.exec(text)?.[1] ?? ''
  }
  const links = () => identity.database.collection('passwordLinks')
  const age = (milliseconds: number) =>
    links().updateOne({ _id: admin._id }, { $set: { createdAt: new Date(Date.now() - milliseconds) } })
  const reset = (token: string, password?: string) => resetAt(identity, token, password)

  test('sets a new password, once, and ends sessions, API tokens and the old password', async () => {
    const { json: session } = await identity.login(user)
    const { json: made } = await identity.callWith(session.accessToken, 'POST', '/api/auth/tokens', {
      ...{ name: 'x', role: 'WORKSPACE_ADMIN' },
    })
    expect((await ask(user.email)).json).toEqual({ byMail: true })
    const token = await linkTo(user.email)
    expect(JSON.stringify(await links().find().toArray())).not.toContain(token)
    expect(await reset(token)).toEqual([200, user.email])
    expect(await reset(token)).toEqual(INVALID)
    expect((await identity.login(user)).json.code).toBe('invalid_credentials')
    await expect(identity.confirm(session.accessToken)).rejects.toThrow('not valid')
    await expect(identity.confirm(made.token)).rejects.toThrow('not valid')
    const { json: again } = await identity.login({ ...user, password: NEW })
    const isLogged = async () => {
      const { json } = await identity.callWith(again.accessToken, 'GET', '/rest/audit?resource=users')
      const actions = (json.data as Parsed[]).map(({ action }) => action)
      return ['forgot-password', 'reset-password'].every((one) => actions.includes(one))
    }
    expect(await waitUntil(isLogged, { timeoutMs: 10_000 })).toBe(true)
  })

  test('is asked for with the same response where there is no such account', async () => {
    const [known, unknown] = [await ask(user.email), await ask('nobody@example.com')]
    expect([unknown.status, unknown.json]).toEqual([known.status, known.json])
    await linkTo(user.email)
    expect(mailServer.mails).toEqual([])
  })

  test('goes to the address of the account, whoever asks in what form, at the configured host', async () => {
    const wide = user.email.replace(/^ana/, 'ＡＮＡ')
    const hosts = {
      'x-forwarded-host': 'evil.example',
      forwarded: 'host=evil.example',
      origin: 'https://evil.example',
    }
    await ask(wide, hosts)
    const { to, text, head } = await mailServer.next(user.email)
    expect(to).toEqual([user.email])
    expect(text).toContain(CONSOLE)
    expect(text).not.toMatch(/evil/)
    expect(head).toMatch(/^from: Parley <parley@example\.com>$/im)
  })

  test.each([
    ['pt-BR,en;q=0.5', 'Alguém pediu'],
    ['es', 'Alguien ha pedido'],
    ['xx', 'Somebody has asked'],
  ])('is in the language of Accept-Language: %s', async (language, words) => {
    await ask(user.email, { 'accept-language': language })
    expect((await mailServer.next(user.email)).text).toContain(words)
  })

  test('is not used up by whoever only looks at it, nor by a password that is too short', async () => {
    await ask(user.email)
    const token = await linkTo(user.email)
    for (const method of ['GET', 'HEAD']) {
      const response = await fetch(`${identity.service.url}/api/auth/reset-password?token=${token}`, {
        method,
      })
      expect(response.status).toBe(405)
    }
    expect((await reset(token, ''))[0]).toBe(422)
    expect(await reset(token)).toEqual([200, user.email])
  })

  test('is one in five minutes; the newest is the only one that works', async () => {
    await ask(user.email)
    const first = await linkTo(user.email)
    // An instance ends once it has done what was asked for.
    const other = await identity.startInstance({ SMTP_URL: mailServer.url, ...MAIL })
    await other.call('POST', '/api/auth/forgot-password', { body: { email: user.email } })
    await other.close()
    expect(mailServer.mails).toEqual([])
    await age(5 * 60_000 + 1)
    await ask(user.email)
    const second = await linkTo(user.email)
    expect(await reset(first)).toEqual(INVALID)
    expect(await reset(second)).toEqual([200, user.email])
  })

  test('ends after its time, and with another new password', async () => {
    await ask(user.email)
    const token = await linkTo(user.email)
    const { json } = await identity.login(user)
    const body = { currentPassword: user.password, newPassword: user.password, keepApiTokens: true }
    expect((await identity.callWith(json.accessToken, 'POST', '/api/auth/password', body)).status).toBe(200)
    expect(await reset(token)).toEqual(INVALID)
    await ask(user.email)
    const later = await linkTo(user.email)
    await links().updateOne({ _id: admin._id }, { $set: { expiresAt: new Date() } })
    expect(await reset(later)).toEqual(INVALID)
  })

  test('sets one password of many that are sent at once', async () => {
    await ask(user.email)
    const token = await linkTo(user.email)
    const responses = await Promise.all([1, 2, 3, 4, 5].map((one) => reset(token, `${NEW} ${one}`)))
    expect(responses.map(([status]) => status).sort()).toEqual([200, 401, 401, 401, 401])
  })
})

describe('where the mail server', () => {
  const lost = async ({ service }: IdentityServer) => {
    const values =
      (await service.registry.getSingleMetric('parley_password_mails_total')?.get())?.values ?? []
    return values.find(({ labels }) => labels.outcome === 'lost')?.value ?? 0
  }
  const silent = startedForTests(async () => {
    const sockets = new Set<{ destroy(): void }>()
    const server = createServer((socket) => void sockets.add(socket.on('error', () => undefined)))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const close = async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    }
    return { port: (server.address() as { port: number }).port, close }
  })
  const identity = startedForTests(() => startIdentity())

  test.each([
    ['is down', () => 1],
    ['takes the connection and says nothing', () => silent.port],
  ])(
    '%s, the mail is lost after a bounded wait, nobody waits for it, and it may be asked for again',
    async (_name, port) => {
      const one = await identity.startInstance({ SMTP_URL: `smtp://127.0.0.1:${port()}`, ...MAIL })
      const user = newRegistration()
      await one.register(user)
      const asked = await one.call('POST', '/api/auth/forgot-password', { body: { email: user.email } })
      expect(asked.json).toEqual({ byMail: true })
      expect((await one.login(user)).status).toBe(200)
      expect(await waitUntil(async () => (await lost(one)) === 1, { timeoutMs: 60_000 })).toBe(true)
      expect(await one.database.collection('passwordLinks').find().toArray()).toEqual([])
    },
    120_000,
  )
})

describe('a link that is handed over', () => {
  const workspace = administeredWorkspace()
  const { identity, addUser, as, asAdmin } = workspace
  const make = (of: { _id: number }, by = asAdmin) => by('POST', `/rest/users/${of._id}/password-link`)
  const codeOf = ({ status, json }: Awaited<ReturnType<typeof make>>) => [status, json.code]
  const reset = (token: string) => resetAt(identity, token)

  test('sets a new password, which is in the audit log; nothing is mailed', async () => {
    const asked = await identity.call('POST', '/api/auth/forgot-password', {
      body: { email: 'a@example.com' },
    })
    expect(asked.json).toEqual({ byMail: false })
    const user = await addUser('MEMBER')
    const { json: first } = await make(user)
    const { json: second, headers } = await make(user)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(await reset(first.token)).toEqual(INVALID)
    expect(await reset(second.token)).toEqual([200, user.username])
    await expect(identity.confirm(user.token)).rejects.toThrow('not valid')
    const { data } = (await asAdmin('GET', '/rest/audit?resource=users')).json
    expect(data.map(({ action }: Parsed) => action)).toEqual(
      expect.arrayContaining(['make-password-link', 'reset-password']),
    )
    const details = data.find(({ action }: Parsed) => action === 'reset-password').details
    expect(details).toEqual({ madeBy: workspace.admin._id })
    expect(JSON.stringify(data)).not.toContain(second.token)
  })

  test('is for nobody who has more, nor for oneself, nor for who is elsewhere', async () => {
    const permissions = [{ schema: "{{resource}} == 'users'", read: ALL, write: ALL }]
    await asAdmin('POST', '/rest/roles', { name: 'SUPPORT', permissions })
    const support = await addUser('SUPPORT')
    const viewer = await addUser('VIEWER')
    expect(codeOf(await make(workspace.admin, as(support.token)))).toEqual([403, 'forbidden'])
    expect(codeOf(await make(viewer, as(viewer.token)))).toEqual([403, 'forbidden'])
    expect(codeOf(await make(workspace.admin))).toEqual([403, 'forbidden'])
    const elsewhere = await identity.register()
    expect(codeOf(await make(elsewhere))).toEqual([404, 'not_found'])
  })

  test.each<[string, (maker: Parsed, user: Parsed) => Promise<unknown>]>([
    [
      'may not manage the user any more',
      ({ _id }) => asAdmin('PATCH', `/rest/users/${_id}`, { role: 'VIEWER' }),
    ],
    ['is removed', ({ _id }) => asAdmin('DELETE', `/rest/users/${_id}`)],
    [
      'has a new password',
      ({ token, password }) =>
        as(token)('POST', '/api/auth/password', { currentPassword: password, newPassword: NEW }),
    ],
  ])('ends when its maker %s', async (_name, change) => {
    const [maker, user] = [await addUser('WORKSPACE_ADMIN'), await addUser('MEMBER')]
    const { json } = await make(user, as(maker.token))
    expect(await change(maker, user)).toMatchObject({ status: 200 })
    expect(await reset(json.token)).toEqual(INVALID)
  })

  test('is not used once the user has more than its maker', async () => {
    const permissions = [{ schema: "{{resource}} == 'users'", read: ALL, write: ALL }]
    const { json: role } = await asAdmin('POST', '/rest/roles', { name: 'SUPPORT', permissions })
    const [support, user] = [await addUser('SUPPORT'), await addUser('SUPPORT')]
    const { json, status } = await make(user, as(support.token))
    expect([status, role.name]).toEqual([200, 'SUPPORT'])
    await asAdmin('PATCH', `/rest/users/${user._id}`, { role: 'WORKSPACE_ADMIN' })
    expect(await reset(json.token)).toEqual(INVALID)
  })

  test('ends with the API token that it was made with', async () => {
    const body = { name: 'x', role: 'WORKSPACE_ADMIN' }
    const { json: token } = await asAdmin('POST', '/api/auth/tokens', body)
    const user = await addUser('MEMBER')
    const { json } = await make(user, as(token.token))
    expect((await asAdmin('DELETE', `/api/auth/tokens/${token._id}`)).status).toBe(200)
    expect(await reset(json.token)).toEqual(INVALID)
  })
})
