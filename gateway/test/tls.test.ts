import {
  createServer as createPlainServer,
  type Server as PlainServer,
  type RequestListener,
  type ServerResponse,
} from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeAll, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import { startedForTests } from '@parley/local/testing/started-for-tests'
import { createAuthority, mountFiles, trustInTests } from '@parley/local/testing/test-authority'
import { listen, startSystem, stop } from './gateway-system.ts'

const ADDRESS = '127.0.0.1'
const NAME = 'localhost'
const PROBE = '/health/ready'
/** Well below the 30 s for which a service may be silent. */
const SOON_MS = 10_000
const seen: { url: string; proto: unknown }[] = []
const streams: ServerResponse[] = []
const respond: RequestListener = ({ url = '', headers }, res) => {
  if (url === PROBE) return void res.end('{}')
  seen.push({ url, proto: headers['x-forwarded-proto'] })
  if (!url.endsWith('/events')) return void res.end('{}')
  streams.push(res.writeHead(200, { 'content-type': 'text/event-stream' }))
  res.write('id: 1\n\n')
}

async function serve(certificate: { cert: string; key: string }) {
  const server: Server = createServer(certificate, respond)
  await new Promise<void>((resolve) => server.listen(0, ADDRESS, resolve))
  return { server, port: (server.address() as AddressInfo).port }
}

/** A gateway that serves over TLS itself, and two services that do: one at an address, one behind a name. */
const system = startedForTests(async () => {
  const [authority, other] = [await createAuthority(), await createAuthority()]
  trustInTests(authority)
  const certificates = {
    right: await authority.issue(ADDRESS),
    named: await authority.issue(NAME),
    misnamed: await authority.issue('elsewhere'),
    foreign: await other.issue(ADDRESS),
  }
  const { paths } = mountFiles({ ...certificates.right, ca: authority.cert })
  const [configuration, dispatcher] = [await serve(certificates.right), await serve(certificates.named)]
  const gateway = await startSystem({
    CONFIGURATION_URL: `https://${ADDRESS}:${configuration.port}`,
    DISPATCHER_URL: `https://${NAME}:${dispatcher.port}`,
    TLS_CA_FILE: paths.ca,
    TLS_CERT_FILE: paths.cert,
    TLS_KEY_FILE: paths.key,
  })
  const close = async () => {
    await gateway.close()
    await stop(configuration.server as unknown as PlainServer)
    await stop(dispatcher.server as unknown as PlainServer)
  }
  return { gateway, certificates, configuration: configuration.server, close }
})
let token: string
beforeAll(async () => {
  token = (await system.gateway.register()).accessToken
})
afterEach(() => {
  seen.length = 0
})

const get = (path: string) => system.gateway.call('GET', path, { token })

test('a gateway with a certificate speaks TLS, says so to services, and has browsers use nothing else', async () => {
  expect(system.gateway.url).toMatch(/^https:/)
  const { status, headers } = await get('/rest/jobs/1')
  expect([status, headers.get('strict-transport-security')]).toEqual([200, 'max-age=63072000'])
  expect(seen).toEqual([{ url: '/rest/jobs/1', proto: 'https' }])
})

test('a service behind a name is reached at its address, with the certificate of the name; event streams as well', async () => {
  await eventually(async () => (await get('/rest/messages')).status === 200)
  const response = await fetch(`${system.gateway.url}/rest/events`, {
    headers: { authorization: `Bearer ${token}` },
  })
  const reader = response.body?.pipeThrough(new TextDecoderStream() as never).getReader()
  for (const event of ['id: 1\n\n', 'id: 2\n\n']) {
    expect((await reader?.read())?.value).toBe(event)
    streams[0]?.write('id: 2\n\n')
  }
  await reader?.cancel()
})

test.each(['foreign', 'misnamed'] as const)(
  'a service whose certificate is %s gets no request: 503, until it has the right one',
  async (wrong) => {
    const { configuration, certificates } = system
    configuration.setSecureContext(certificates[wrong])
    configuration.closeAllConnections()
    const from = performance.now()
    const { status, json, text } = await get('/rest/jobs/1')
    expect([status, json.code]).toEqual([503, 'unavailable'])
    expect(performance.now() - from).toBeLessThan(SOON_MS)
    expect(text).not.toMatch(/certificate|altnames|127\.0\.0\.1/i)
    expect(seen).toEqual([])
    configuration.setSecureContext(certificates.right)
    expect((await get('/rest/jobs/1')).status).toBe(200)
  },
)

test('a service that does not speak TLS, where its URL says so, is 503 too', async () => {
  const { configuration } = system
  const { port } = configuration.address() as AddressInfo
  await stop(configuration as unknown as PlainServer)
  const plain = createPlainServer(respond)
  await listen(plain, `http://${ADDRESS}:${port}`)
  expect((await get('/rest/jobs/1')).status).toBe(503)
  expect(seen).toEqual([])
  await stop(plain)
  await new Promise<void>((resolve) => configuration.listen(port, ADDRESS, resolve))
  expect((await get('/rest/jobs/1')).status).toBe(200)
})
