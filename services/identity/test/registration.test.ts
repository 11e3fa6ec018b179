import { createHmac, randomBytes } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import bcrypt from 'bcryptjs'
import { identityForTests, newRegistration } from './identity-server.ts'

const PEPPER = randomBytes(32)
const identity = identityForTests({ PEPPERS: `p1:${PEPPER.toString('base64')}` })

const register = (body: unknown) => identity.call('POST', '/api/auth/register', { body })

describe('a registration', () => {
  test('answers with account, workspace, role and a token', async () => {
    const sent = newRegistration({ email: 'Ana.Souza+x@Example.com', namespace: 'Açaí & Co.' })
    const { status, headers, json } = await register(sent)
    expect(status).toBe(200)
    expect(headers.get('cache-control')).toBe('no-store')
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
    const id = expect.any(Number)
    expect(json).toEqual({
      _id: json.account._id,
      account: {
        _id: id,
        provider: 'local',
        username: sent.email,
        passwordHash: expect.stringMatching(/^\$2b\$04\$/),
        salt: json.account.passwordHash.slice(0, 29),
        name: sent.name,
        profile: id,
        createdAt: time,
        updatedAt: time,
        context: {},
      },
      role: id,
      workspace: {
        _id: id,
        name: sent.namespace,
        namespace: sent.namespace,
        host: 'acai-co.parley.test',
        status: 'active',
        createdAt: time,
        updatedAt: time,
        context: {},
      },
      createdAt: time,
      updatedAt: time,
      accessToken: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
      expiresAt: time,
    })
  })

  test('makes four roles, the first of which is the new user’s', async () => {
    const { json } = await register(newRegistration())
    const roles = await identity.database
      .collection('roles')
      .find({ workspace: json.workspace._id })
      .sort({ _id: 1 })
      .toArray()
    expect(roles.map(({ name }) => name)).toEqual(['WORKSPACE_ADMIN', 'MEMBER', 'VIEWER', 'PROVIDER'])
    expect(json.role).toBe(roles[0]?._id)
  })

  test('hashes the password with the pepper, all 1,024 bytes of it', async () => {
    const password = 'p'.repeat(1024)
    const { json } = await register(newRegistration({ password }))
    const peppered = createHmac('sha256', PEPPER).update(password).digest('base64')
    expect(await bcrypt.compare(peppered, json.account.passwordHash)).toBe(true)
    expect(await bcrypt.compare(password, json.account.passwordHash)).toBe(false)
    const login = (tried: string) =>
      identity.call('POST', '/api/auth/login', { body: { username: json.account.username, password: tried } })
    expect((await login(password)).status).toBe(200)
    expect((await login(`${password.slice(0, 1023)}q`)).status).toBe(401)
  })

  test('takes no notice of a bearer token, whatever it contains', async () => {
    for (const authorization of ['Bearer not-a-token', 'Basic eDp5', 'Bearer ']) {
      const body = newRegistration()
      const response = await identity.call('POST', '/api/auth/register', { body, headers: { authorization } })
      expect(response.status).toBe(200)
    }
  })

  test.each([
    ['role', { role: 1 }],
    ['workspace', { workspace: 1 }],
    ['provider', { provider: 'local' }],
    ['__proto__', JSON.parse('{"__proto__": {"role": 1}}')],
  ])('refuses the field %s', async (_field, extra) => {
    const body = Object.defineProperties(newRegistration(), Object.getOwnPropertyDescriptors(extra))
    const { status, json } = await register(body)
    expect([status, json.code]).toEqual([422, 'validation_failed'])
  })

  test.each([
    ['an email without @', { email: 'nobody' }],
    ['an email with a control character', { email: 'a\u0001b@example.com' }],
    ['an email of 255 characters', { email: `${'a'.repeat(64)}@${'b'.repeat(190)}` }],
    ['an empty password', { password: '' }],
    ['a password of 1,025 bytes', { password: `${'é'.repeat(512)}x` }],
    ['a namespace of 256 characters', { namespace: 'n'.repeat(256) }],
    ['a name that is a number', { name: 7 }],
    ['an email that is an operator', { email: { $gt: '' } }],
    ['a password that is an operator', { password: { $ne: null } }],
    ['a phone that is null', { phone: null }],
  ])('refuses %s', async (_what, change) => {
    const { status, json } = await register(newRegistration(change))
    expect([status, json.code]).toEqual([422, 'validation_failed'])
    expect(json.errors[0].path).toBe(`/${Object.keys(change)[0]}`)
  })

  test('refuses what is nested 10,000-fold', async () => {
    const raw = `{"name": ${'['.repeat(10_000)}${']'.repeat(10_000)}}`
    const { status, json } = await identity.call('POST', '/api/auth/register', { raw })
    expect([status, json.code]).toEqual([422, 'too_deep'])
  })

  test.each(['name', 'email', 'phone', 'password', 'namespace'])('needs %s', async (field) => {
    const { [field]: _left, ...body } = newRegistration() as Record<string, unknown>
    expect((await register(body)).status).toBe(422)
  })

  test('takes the odd but valid', async () => {
    const odd = { name: '', phone: '', namespace: '', password: '🔑' }
    expect((await register(newRegistration(odd))).status).toBe(200)
    const long = { namespace: '😀'.repeat(255), email: `${'l'.repeat(64)}@${'d'.repeat(189)}` }
    expect((await register(newRegistration(long))).status).toBe(200)
  })

  test('asks for the configured minimum of a password', async () => {
    const strict = await identity.startInstance({ PASSWORD_MIN_LENGTH: '8' })
    const statusFor = async (password: string) =>
      (await strict.call('POST', '/api/auth/register', { body: newRegistration({ password }) })).status
    expect(await statusFor('1234567')).toBe(422)
    expect(await statusFor('12345678')).toBe(200)
  })
})

describe('the email', () => {
  test('is taken in any case and compatibility form', async () => {
    await register(newRegistration({ email: 'Straße.Σ@example.com' }))
    for (const email of ['STRASSE.σ@EXAMPLE.COM', 'straße.ς@example.com', 'ｓtraße.Σ@example.com']) {
      const { status, json } = await register(newRegistration({ email }))
      expect([status, json.code]).toEqual([409, 'email_taken'])
    }
  })

  test('counts dots and tags', async () => {
    for (const email of ['d.ot@example.com', 'dot@example.com', 'dot+tag@example.com'])
      expect((await register(newRegistration({ email }))).status).toBe(200)
  })

  test('goes to one of many who ask at once, and the others leave nothing behind', async () => {
    const body = newRegistration({ email: 'race@example.com', namespace: 'race' })
    const responses = await Promise.all(Array.from({ length: 200 }, () => register(body)))
    expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array<number>(199).fill(409)])
    const workspaces = await identity.database.collection('workspaces').find({ namespace: 'race' }).toArray()
    expect(workspaces).toHaveLength(1)
    expect(
      await identity.database.collection('roles').countDocuments({ workspace: workspaces[0]!._id as never }),
    ).toBe(4)
  })
})

describe('the host', () => {
  const hostFor = async (namespace: string) =>
    (await register(newRegistration({ namespace }))).json.workspace.host as string

  test('gets a number when it is taken', async () => {
    expect(await hostFor('globex')).toBe('globex.parley.test')
    expect(await hostFor('Globex!')).toBe('globex-2.parley.test')
    expect(await hostFor('globex-3')).toBe('globex-3.parley.test')
    expect(await hostFor('globex')).toBe('globex-4.parley.test')
  })

  test('is made up when the namespace has no usable letters', async () => {
    expect(await hostFor('日本')).toMatch(/^workspace(-\d+)?\.parley\.test$/)
    expect(await hostFor('---')).toMatch(/^workspace-\d+\.parley\.test$/)
  })

  test('is different for all who ask at once', async () => {
    const hosts = await Promise.all(Array.from({ length: 8 }, () => hostFor('initech')))
    expect(new Set(hosts).size).toBe(8)
  })
})
