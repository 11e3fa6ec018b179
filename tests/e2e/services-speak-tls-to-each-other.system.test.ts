import { expect, test } from '@jest/globals'
import { createParley, type ServerEvent } from '@parley/client'
import { succeeded } from '@parley/client/parley-error'
import { eventually } from '@parley/local/testing/service-under-test'
import { startParley } from '@parley/local/testing/start-parley'
import { startedForTests } from '@parley/local/testing/started-for-tests'
import { createAuthority, mountFiles, trustInTests } from '@parley/local/testing/test-authority'

const system = startedForTests(async () => {
  const authority = await createAuthority()
  trustInTests(authority)
  const { paths } = mountFiles({ ...(await authority.issue('127.0.0.1')), ca: authority.cert })
  const all = { TLS_CERT_FILE: paths.cert, TLS_KEY_FILE: paths.key, TLS_CA_FILE: paths.ca }
  return startParley({ environment: { all } })
})

test('a message goes through the whole system, and its reader sees it in an event stream', async () => {
  const { url, services } = system
  for (const service of Object.values(services)) expect(service.url).toMatch(/^https:/)
  const login = { username: 'ana@example.com', password: 'correct horse battery staple' }
  const ana = { name: 'Ana', email: login.username, phone: '1', password: login.password, namespace: 'acme' }
  await succeeded(createParley({ url }).api.POST('/api/auth/register', { body: ana }))
  const client = createParley({ url, login })
  const channel = { name: 'line', description: '', extId: 'line', hook: 'whatsapp', callback: 'rpc' } as const
  await succeeded(
    client.api.PUT('/rest/channels/{id}', {
      params: { path: { id: 1 } },
      body: { ...channel, handlerUrl: 'native:agents/none', config: {} },
    }),
  )
  const events: ServerEvent[] = []
  const controller = new AbortController()
  const opened = Promise.withResolvers<void>()
  const follow = async () => {
    const { signal } = controller
    for await (const event of client.events('/rest/events', { signal, onOpen: () => opened.resolve() }))
      events.push(event)
  }
  const following = follow().catch(() => undefined)
  await opened.promise
  await client.messages.send({
    extId: 'line',
    user: { phone: '1' },
    thread: { extId: 'a' },
    answer: {},
  } as never)
  // Nobody is there to send to.
  const dead = await eventually(() => events.find(({ data }) => JSON.parse(data).state === 'dead'))
  expect(JSON.parse(dead.data)).toMatchObject({ channel: 'line', thread: 'a' })
  controller.abort()
  await following
})
