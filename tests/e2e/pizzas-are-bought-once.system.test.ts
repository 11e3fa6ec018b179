import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { dispatchersOf, readRunFile } from '@parley/local/demo/running-system'
import { eventually, type Listening, listen, type Parsed } from '@parley/local/testing/service-under-test'
import { type OwnSystem, startOwnSystem } from '../lab/system/own-system.ts'
import { registerWorkspace, type Workspace } from '../lab/system/workspace.ts'

/** Beyond the time limit of a call. */
const LATE_MS = 17_000

let own: OwnSystem
let workspace: Workspace
let shop: Listening
/** The orders of the shop: it knows no `Idempotency-Key`, and sells whatever is asked for. */
let ledger: { pizzas: number }[]
let late: NodeJS.Timeout[]

beforeAll(async () => {
  own = await startOwnSystem({ instances: { dispatcher: 2 }, say: () => undefined })
  workspace = await registerWorkspace(own.system.gatewayUrl, 'pizzas')
  shop = await listen((req, res) => {
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => {
      if (req.url !== '/purchases') return res.writeHead(200).end()
      if (req.method === 'POST') {
        ledger.push(JSON.parse(Buffer.concat(chunks).toString()))
        late.push(setTimeout(() => res.writeHead(201).end('{}'), LATE_MS))
        return
      }
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(ledger))
    })
  })
  await configure()
})
beforeEach(() => {
  ledger = []
  late = []
})
afterAll(async () => {
  for (const timer of late ?? []) clearTimeout(timer)
  await shop?.close()
  await own?.stop()
})

async function configure(): Promise<void> {
  const schema = { type: 'object', properties: { pizzas: { type: 'integer' } } }
  const responses = { 200: { description: 'Done' } }
  const post = {
    operationId: 'buy',
    requestBody: { content: { 'application/json': { schema } } },
    responses,
  }
  const spec = JSON.stringify({
    openapi: '3.0.0',
    info: { title: 'Shop', version: '1' },
    servers: [{ url: shop.url }],
    paths: { '/purchases': { post, get: { operationId: 'purchases', responses } } },
  })
  const text = { name: 'Shop', description: '' }
  await workspace.call('PUT', '/rest/actions/1', {
    ...{ ...text, specType: 'openapi3-yaml', moduleUrl: 'native:request', spec },
  })
  await workspace.call('PUT', '/rest/assistant/1', { ...text, backstory: '', actions: [1] })
  for (const [id, extId, type] of [
    [1, 'calls', 'echo'],
    [2, 'speaks', 'functionCall'],
  ] as const)
    await workspace.call('PUT', `/rest/channels/${id}`, {
      ...{ ...text, extId, hook: 'rpc', callback: 'rpc', handlerUrl: `native:agents/${type}` },
      config: { assistantId: 1, callbackUrl: `${shop.url}/callback` },
    })
}

async function script(...responses: object[]): Promise<void> {
  const response = await fetch(new URL('/simulator/script', own.system.modelSimulatorUrl), {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ responses }),
  })
  expect(response.status).toBe(200)
}

/** The message of a thread, once it has come to its end, however long no dispatcher is there to say so. */
const ended = (thread: string): Promise<Parsed> =>
  eventually(
    async () => {
      const read = async (path: string): Promise<Parsed | undefined> =>
        workspace.call('GET', path).catch(() => undefined)
      const found = (await read(`/rest/messages?thread=${thread}`))?.data[0]
      return ['delivered', 'dead'].includes(found?.state) ? read(`/rest/messages/${found._id}`) : undefined
    },
    { timeoutMs: 150_000 },
  )

const message = (extId: string, thread: string) => ({
  ...{ extId, user: { name: 'Ana' }, thread: { extId: thread } },
  answer: extId === 'calls' ? { functions: [{ name: 'buy', args: { pizzas: 1 } }] } : {},
  input: 'A pizza, please.',
})

/** A purchase by a caller's function, and one by a model, which looks it up and calls once more all the same. */
async function buy(run: string): Promise<void> {
  const call = { name: 'buy', arguments: { pizzas: 2 } }
  await script(
    { calls: [call] },
    { calls: [{ name: 'purchases', arguments: {} }, call] },
    { text: 'It is under way.' },
  )
  for (const extId of ['calls', 'speaks'])
    await workspace.call('POST', '/api/hooks/whatsapp', message(extId, `${run}-${extId}`))
}

async function expectOnePurchaseEach(run: string): Promise<void> {
  const [called, spoken] = await Promise.all([ended(`${run}-calls`), ended(`${run}-speaks`)])
  expect(ledger.toSorted((one, other) => one.pizzas - other.pizzas)).toEqual([{ pizzas: 1 }, { pizzas: 2 }])
  expect(called).toMatchObject({
    ...{ state: 'dead', fault: 'channel', attempts: [{ outcome: 'uncertain', code: 'effect_unknown' }] },
    reason: expect.stringMatching(/may have been done, and must not be repeated: look up/),
  })
  expect(spoken.state).toBe('delivered')
  expect(spoken.turns[0].calls[0].result).toMatchObject({
    ...{ state: 'failed', uncertain: true },
    text: expect.stringMatching(/may have been done, and must not be repeated: look up/),
  })
  expect(spoken.turns[1].calls.map(({ result }: Parsed) => [result.state, result.text])).toEqual([
    ['done', expect.stringContaining('{"pizzas":2}')],
    ['failed', expect.stringContaining('was made before, and may have been done')],
  ])
}

test('when the shop answers after the time limit', async () => {
  await buy('late')
  await expectOnePurchaseEach('late')
})

test('when every dispatcher is killed while the shop works', async () => {
  await buy('killed')
  await eventually(() => ledger.length === 2)
  const running = readRunFile(own.runFile)
  for (const name of dispatchersOf(running ?? { processes: {} })) {
    const pid = running?.processes[name]?.pid
    if (pid !== undefined) process.kill(pid, 'SIGKILL')
  }
  await expectOnePurchaseEach('killed')
})
