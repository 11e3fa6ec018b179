import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { eventually, type Listening, listen } from '@parley/local/testing/service-under-test'
import { createAuthority, mountFiles, type TestAuthority } from '@parley/local/testing/test-authority'
import { createServiceCalls, type ServiceCalls, type Target } from '../src/service-calls.ts'
import { recordedLog } from './recorded-log.ts'

const RELOAD_MS = 20
const NAME = 'parley-identity'
let authority: TestAuthority
let other: TestAuthority
const opened: { close(): unknown }[] = []
beforeAll(async () => {
  authority = await createAuthority()
  other = await createAuthority()
})
afterAll(() => Promise.all(opened.map((one) => one.close())))

/** A server at 127.0.0.1 whose certificate is for `host`. */
async function serve(issuer: TestAuthority, host: string): Promise<URL> {
  const server = createServer({ ...(await issuer.issue(host)) }, (req, res) => res.end(req.headers.host))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  opened.push({
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  })
  return new URL(`https://127.0.0.1:${(server.address() as AddressInfo).port}`)
}

async function callsTrusting(...authorities: TestAuthority[]) {
  const files = mountFiles({ ca: authorities.map(({ cert }) => cert).join('\n') })
  const { log, warnings } = recordedLog()
  const calls = await createServiceCalls({ caFile: files.paths.ca, log, pauseMs: RELOAD_MS })
  opened.push(calls)
  return { calls, files, warnings }
}

/** Returns the service's answer, or the code of the error. */
async function ask({ call }: ServiceCalls, target: Target): Promise<string> {
  try {
    return await (await call(target, '/', { signal: AbortSignal.timeout(10_000) })).text()
  } catch (error) {
    return String(((error as Error).cause as NodeJS.ErrnoException | undefined)?.code ?? error)
  }
}

const FOREIGN = 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'
const MISNAMED = 'ERR_TLS_CERT_ALTNAME_INVALID'

test('a certificate has to be of a CA in the file, and for the host that is called', async () => {
  const { calls } = await callsTrusting(authority)
  const target = await serve(authority, '127.0.0.1')
  expect(await ask(calls, target)).toBe(target.host)
  expect(await ask(calls, await serve(other, '127.0.0.1'))).toBe(FOREIGN)
  expect(await ask(calls, await serve(authority, 'elsewhere'))).toBe(MISNAMED)
})

test('an address behind a name has the certificate of that name', async () => {
  const { calls } = await callsTrusting(authority)
  const { origin, host } = await serve(authority, NAME)
  expect(await ask(calls, { origin, host })).toBe(MISNAMED)
  expect(await ask(calls, { origin, host, servername: NAME })).toBe(host)
  expect(await ask(calls, { origin, host, servername: 'elsewhere' })).toBe(MISNAMED)
})

test('what Node trusts counts only without a file', async () => {
  const { log } = recordedLog()
  const calls = await createServiceCalls({ caFile: undefined, log })
  opened.push(calls)
  expect(await ask(calls, await serve(authority, '127.0.0.1'))).toBe(FOREIGN)
})

test('a file that changes is read again, and one without a certificate is not used', async () => {
  const { calls, files, warnings } = await callsTrusting(authority)
  const [first, second] = [await serve(authority, '127.0.0.1'), await serve(other, '127.0.0.1')]
  expect(await ask(calls, second)).toBe(FOREIGN)
  files.replace({ ca: 'nothing' })
  await eventually(() => warnings.length > 0)
  expect(warnings).toEqual([{ reason: 'TLS_CA_FILE: has no certificate in PEM' }])
  expect(await ask(calls, first)).toBe(first.host)
  files.replace({ ca: `${authority.cert}\n${other.cert}` })
  await eventually(async () => (await ask(calls, second)) === second.host)
  expect(await ask(calls, first)).toBe(first.host)
})

test('a server without TLS, and a file without a CA, are errors and not silence', async () => {
  const { calls } = await callsTrusting(authority)
  const plain: Listening = await listen((_req, res) => void res.end())
  opened.push(plain)
  expect(await ask(calls, new URL(plain.url.replace('http:', 'https:')))).toMatch(/^ERR_SSL_/)
  const { log } = recordedLog()
  await expect(createServiceCalls({ caFile: '/nowhere', log })).rejects.toThrow(
    'The configuration is wrong:\n  TLS_CA_FILE: can not be read (ENOENT)',
  )
})
