import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from '@jest/globals'
import { namedSecret } from '@parley/local/testing/service-under-test'
import { testServers } from '@parley/local/testing/test-servers'
import { waitUntil } from '@parley/local/wait-until'
import { identityForTests, newRegistration } from './identity-server.ts'

const run = promisify(execFile)
const KEY_ENCRYPTION_KEYS = namedSecret('k1')
const identity = identityForTests({ KEY_ENCRYPTION_KEYS })
let environment: Record<string, string>

beforeAll(async () => {
  const { mongoUrl } = await testServers()
  const database = identity.database.databaseName
  environment = { MONGO_URL: mongoUrl, MONGO_DATABASE: database, KEY_ENCRYPTION_KEYS }
})

const rotate = (env: Record<string, string>, ...args: string[]) =>
  run(process.execPath, ['services/identity/src/rotate-keys.ts', ...args], {
    env: { ...env, LOG_LEVEL: 'silent' },
  })
const published = async (): Promise<string[]> =>
  (await identity.call('GET', '/.well-known/jwks.json')).json.keys.map(({ kid }: { kid: string }) => kid)
const signingKid = async () => {
  const { accessToken } = await identity.register()
  return JSON.parse(Buffer.from(accessToken.split('.')[0], 'base64url').toString()).kid as string
}

test('rotation moves every key on by one, and running processes follow', async () => {
  const [next, current] = await published()
  expect(await signingKid()).toBe(current)
  const { stdout } = await rotate(environment)
  expect(stdout).toMatch(new RegExp(`^${next} signs now; [\\w-]+ is published for the next time\\.`))
  expect(await waitUntil(async () => (await published()).length === 3, { timeoutMs: 15_000 })).toBe(true)
  const after = await published()
  expect(after.slice(1)).toEqual([next, current])
  expect(await signingKid()).toBe(next)
})

test('rotation is refused when the last one is too recent, and forced with another encryption key', async () => {
  await expect(rotate(environment)).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining('too recent'),
  })
  const newKey = namedSecret('k2')
  const both = { ...environment, KEY_ENCRYPTION_KEYS: `${newKey},${KEY_ENCRYPTION_KEYS}` }
  await rotate(both, '--force')
  // The old encryption key is not needed any more.
  const successor = await identity.startInstance({ KEY_ENCRYPTION_KEYS: newKey })
  const { status } = await successor.call('POST', '/api/auth/register', { body: newRegistration() })
  expect(status).toBe(200)
})

test('a wrong environment is named, without its values', async () => {
  await expect(rotate({ KEY_ENCRYPTION_KEYS: 'k:secret' })).rejects.toMatchObject({
    stderr: expect.stringMatching(/MONGO_URL[\s\S]*KEY_ENCRYPTION_KEYS/),
  })
  await expect(rotate({ KEY_ENCRYPTION_KEYS: 'k:secret' })).rejects.toMatchObject({
    stderr: expect.not.stringContaining('secret'),
  })
})
