import { afterEach, expect, test } from '@jest/globals'
import { type Parley as Client, createParley, type ServerEvent } from '@parley/client'
import { succeeded } from '@parley/client/parley-error'
import { eventually, type Parsed, type RunningService } from '@parley/local/testing/service-under-test'
import { startParley } from '@parley/local/testing/start-parley'
import { startedForTests } from '@parley/local/testing/started-for-tests'

/** Two gateways in front of two dispatchers. */
const system = startedForTests(async () => {
  const parley = await startParley({
    environment: { dispatcher: { ALLOWED_PRIVATE_TARGETS: '127.0.0.0/8' } },
  })
  const dispatchers = [parley.services.dispatcher, await parley.start('dispatcher')]
  const behind = { DISPATCHER_URL: dispatchers.map(({ url }) => url).join(',') }
  const gateways = [await parley.start('gateway', behind), await parley.start('gateway', behind)]
  return { parley, dispatchers, gateways, close: parley.close }
})

const ending: AbortController[] = []
afterEach(() => {
  for (const one of ending.splice(0)) one.abort()
})

let number = 0

/** A new workspace whose channel `line` has nobody to send to: each message is dead at once. */
async function newWorkspace() {
  const { url } = system.parley
  const user = { username: `ana.${++number}@example.com`, password: 'correct horse battery staple' }
  const body = { name: 'Ana', email: user.username, phone: '1', password: user.password, namespace: 'acme' }
  await succeeded(createParley({ url }).api.POST('/api/auth/register', { body }))
  const client = createParley({ url, login: user })
  for (const [id, extId] of [
    [1, 'line'],
    [2, 'hidden'],
  ] as const)
    await succeeded(
      client.api.PUT('/rest/channels/{id}', {
        params: { path: { id } },
        body: {
          ...({ name: extId, description: '', extId, hook: 'whatsapp', callback: 'rpc' } as const),
          handlerUrl: 'native:agents/none',
          config: {},
        },
      }),
    )
  return { user, client }
}

const post = (client: Client, thread: string, extId = 'line') =>
  client.messages.send({ extId, user: { phone: '1' }, thread: { extId: thread }, answer: {} } as never)

/** Follows events in the background, over whatever gateways there are. */
function follow(user: { username: string; password: string }, urls: () => string) {
  const controller = new AbortController()
  ending.push(controller)
  const events: ServerEvent[] = []
  let opened = 0
  // A client of one gateway: another address takes over where that is gone, as a load balancer does it.
  const client = createParley({
    url: system.parley.url,
    login: user,
    fetch: (request) => {
      const { pathname, search } = new URL(request.url)
      return fetch(new Request(new URL(pathname + search, urls()), request))
    },
  })
  const read = async () => {
    const onOpen = () => void opened++
    for await (const event of client.events('/rest/events', { signal: controller.signal, onOpen }))
      events.push(event)
  }
  void read().catch(() => undefined)
  return {
    events,
    opened: () => eventually(() => opened > 0),
    openedCount: () => opened,
  }
}

const statesOf = (events: ServerEvent[]) =>
  events.filter(({ event }) => event === 'state').map(({ data }) => JSON.parse(data) as Parsed)
const endedIn = (events: ServerEvent[]) =>
  statesOf(events)
    .filter(({ state }) => state === 'dead')
    .map(({ _id }) => _id)

/** Messages are posted all the time while `kill` happens; then all of them are in the stream, once and in order. */
async function losesNothing(kill: () => Promise<void>, urls: () => string): Promise<void> {
  const { user, client } = await newWorkspace()
  const stream = follow(user, urls)
  await stream.opened()
  const ids: string[] = []
  const postSome = async (count: number) => {
    for (let n = 0; n < count; n++) ids.push((await post(client, `thread ${ids.length % 5}`)).id)
  }
  await postSome(10)
  await eventually(() => stream.events.length > 0)
  const before = stream.openedCount()
  await Promise.all([postSome(30), kill()])
  await postSome(10)
  await eventually(() => endedIn(stream.events).length >= ids.length, {
    timeoutMs: 60_000,
  })
  expect(stream.openedCount()).toBeGreaterThan(before)
  expect(endedIn(stream.events).toSorted()).toEqual(ids.toSorted())
  const seen = stream.events.map(({ id, data }) => `${id} ${data}`)
  expect(new Set(seen).size).toBe(seen.length)
  for (const id of ids) {
    const of = statesOf(stream.events).filter(({ _id }) => _id === id)
    expect([id, of[0].state, of.at(-1).state]).toEqual([id, 'received', 'dead'])
  }
  expect(stream.events.filter(({ event }) => event === 'gap')).toEqual([])
}

const started = (service: RunningService | undefined) => service as RunningService

test('no event is lost and none comes twice when the gateway of a stream dies', async () => {
  const [first, second] = system.gateways.map(started)
  let isGone = false
  const kill = async () => {
    isGone = true
    await first?.close()
  }
  await losesNothing(kill, () => (isGone ? (second?.url ?? '') : (first?.url ?? '')))
})

test('a stream has what its reader’s role may read, and nothing else', async () => {
  const { user, client } = await newWorkspace()
  const role = await succeeded(
    client.api.POST('/rest/roles', {
      body: {
        name: 'LINE',
        permissions: [
          { schema: "{{resource}} == 'messages'", read: "{{doc.channel}} == 'line'", write: 'false' },
        ],
      },
    }),
  )
  const reader = { email: `reader.${number}@example.com`, password: 'another staple' }
  await succeeded(
    client.api.POST('/rest/users', { body: { ...reader, name: 'R', role: role.name } as never }),
  )
  const whole = follow(user, () => system.parley.url)
  const some = follow({ username: reader.email, password: reader.password }, () => system.parley.url)
  await Promise.all([whole.opened(), some.opened()])
  const hidden = await post(client, 'a', 'hidden')
  const shown = await post(client, 'a')
  await eventually(() => endedIn(whole.events).includes(hidden.id))
  await eventually(() => endedIn(some.events).includes(shown.id))
  expect(JSON.stringify(some.events)).not.toContain(hidden.id)
  const allowed = statesOf(whole.events).filter(({ _id }) => _id === shown.id)
  expect(statesOf(some.events)).toEqual(allowed)
})

test('no event is lost and none comes twice when the dispatcher of a stream dies', async () => {
  const gateway = started(system.gateways[1])
  // The one that the stream is at.
  const kill = async () => {
    const open = await Promise.all(
      system.dispatchers.map(async ({ registry }) => {
        const metric = await registry.getSingleMetric('parley_event_stream_readers')?.get()
        return metric?.values[0]?.value ?? 0
      }),
    )
    await started(system.dispatchers[open[0] === 0 ? 1 : 0]).close()
  }
  await losesNothing(kill, () => gateway.url)
})
