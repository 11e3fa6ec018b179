import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, symlinkSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, test } from '@jest/globals'
import { eventually, type Listening, listen } from '@parley/local/testing/service-under-test'
import { type Somebody, somebody } from './cli-world.ts'

let ana: Somebody
let gateway: Listening | undefined
afterEach(async () => {
  ana.remove()
  await gateway?.close()
  gateway = undefined
})

type Handler = (req: IncomingMessage, res: ServerResponse) => void

/** Somebody whose gateway responds as `handlers` do, by the beginning of the path. */
async function behind(handlers: Record<string, Handler>): Promise<void> {
  gateway = await listen((req, res) => {
    const [, handle] = Object.entries(handlers).find(([path]) => req.url?.startsWith(path)) ?? []
    if (handle === undefined) res.writeHead(404).end()
    else handle(req, res)
  })
  ana = somebody({ PARLEY_URL: gateway.url, PARLEY_TOKEN: 't' })
}

const json =
  (body: object, status = 200): Handler =>
  (_req, res) =>
    void res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))

const forbidden = json({ code: 'forbidden', title: 'No' }, 403)
/** An event stream that begins with `text` and goes on for ever. */
const stream =
  (text = ': open\n\n'): Handler =>
  (_req, res) =>
    void res.writeHead(200, { 'content-type': 'text/event-stream' }).write(text)

const SEND = ['send', '--channel', 'c', '--phone', '1', '--text', 'x']

describe('parley send', () => {
  test.each([{ format: [] }, { format: ['--json'] }])(
    'whose message may have been accepted says the key with which a repeat is the same message: %j',
    async ({ format }) => {
      const keys: unknown[] = []
      await behind({
        '/api/hooks/whatsapp': (req, res) => {
          keys.push(req.headers['idempotency-key'])
          if (keys.length === 1) req.socket.destroy()
          else if (keys.length === 2) res.writeHead(500).end()
          else json({})(req, res)
        },
      })
      const { code, stderr } = await ana.run([...SEND, ...format])
      const key = format.length > 0 ? JSON.parse(stderr).error.key : /--key ([\w-]+)/.exec(stderr)?.[1]
      expect([code, key]).toEqual([7, keys[0]])
      expect((await ana.run([...SEND, '--key', key])).code).toBe(0)
      expect(keys).toEqual([key, key, key])
    },
  )

  test('that is interrupted before the response says the key too', async () => {
    const keys: unknown[] = []
    await behind({ '/api/hooks/whatsapp': (req) => void keys.push(req.headers['idempotency-key']) })
    const child = ana.start(SEND)
    let stderr = ''
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      stderr += text
    })
    await eventually(() => keys[0])
    child.kill('SIGINT')
    const [code] = await once(child, 'close')
    expect([code, stderr]).toEqual([130, expect.stringContaining(`--key ${keys[0]}`)])
  })
})

describe('parley tail', () => {
  test('that may follow the events but not read the log ends with 4', async () => {
    await behind({ '/rest/events': stream(), '/rest/messages': forbidden })
    const { code, stderr } = await ana.run(['tail'], { timeoutMs: 15_000 })
    expect([code, stderr]).toEqual([4, expect.stringContaining('Ask an admin')])
  })
})

describe.each([[['tail']], [['listen', '3000']]])('parley %j', (args) => {
  test('without a gateway says that it tries again, and ends with 7', async () => {
    ana = somebody({ PARLEY_URL: 'http://127.0.0.1:1', PARLEY_TOKEN: 't' })
    const runs = [args, [...args, '--json']].map((each) => ana.run(each, { timeoutMs: 30_000 }))
    const [plain, asJson] = await Promise.all(runs)
    expect([plain?.code, asJson?.code]).toEqual([7, 7])
    expect(plain?.stderr).toMatch(
      /^Parley can not be reached.*trying again\.\nerror: Parley can not be reached.*\n$/,
    )
    const lines = asJson?.stderr.trimEnd().split('\n') ?? []
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { warning: { message: expect.stringContaining('trying again') } },
      { error: { exitCode: 7 } },
    ])
  })

  test('whose gateway does not respond ends with 7', async () => {
    await behind({ '/rest': () => undefined })
    const { code, stderr } = await ana.run(args, { timeoutMs: 40_000 })
    expect([code, stderr]).toEqual([7, expect.stringContaining('Parley can not be reached (no response)')])
  })
})

const CTRL_C = '\u0003'
const CTRL_D = '\u0004'

describe('parley chat', () => {
  test('whose turn is refused ends with 4 at a terminal', async () => {
    await behind({
      '/rest/assistant/1/try': forbidden,
      '/rest/assistant/1': json({ _id: 1, name: 'Marta' }),
    })
    const { code, screen } = await ana.atTerminal(['chat', '1'], [['You talk to', 'hello']], {
      timeoutMs: 15_000,
    })
    expect([code, screen]).toEqual([4, expect.stringContaining('Ask an admin')])
  })
})

describe('the questions of', () => {
  const replay = ['replay', '--state', 'dead']
  const logIn = ['login', '--user', 'a', '--url', 'http://127.0.0.1:1']

  test.each([
    ...[{ args: replay, question: '[y/N]', key: CTRL_C, exit: 130, said: '' }],
    ...[{ args: replay, question: '[y/N]', key: CTRL_D, exit: 2, said: 'Nothing was run.' }],
    ...[{ args: logIn, question: 'Password:', key: CTRL_C, exit: 130, said: '' }],
    ...[{ args: logIn, question: 'Password:', key: CTRL_D, exit: 2, said: '--password-stdin is missing' }],
  ])('$args.0 end with $exit at a key that ends the input', async ({ args, question, key, exit, said }) => {
    await behind({ '/rest/messages': json({ data: [{ _id: 'm' }], next: null }) })
    const { code, screen } = await ana.atTerminal(args, [[question, key]], { timeoutMs: 15_000 })
    expect([code, screen]).toEqual([exit, expect.stringContaining(said)])
    expect(screen).not.toContain('AbortError')
  })
})

describe('parley', () => {
  test('starts in a folder whose path is not that of its URL, as under Windows', () => {
    ana = somebody()
    const folder = join(ana.folder, 'a#b')
    const checkout = fileURLToPath(new URL('../../..', import.meta.url))
    for (const part of ['package.json', 'bin', 'src'])
      cpSync(join(checkout, 'deploy/cli', part), join(folder, 'deploy/cli', part), { recursive: true })
    symlinkSync(join(checkout, 'deploy/cli/node_modules'), join(folder, 'deploy/cli/node_modules'))
    symlinkSync(join(checkout, 'node_modules'), join(folder, 'node_modules'))
    const main = join(folder, 'deploy/cli/bin/parley.mjs')
    expect(execFileSync(process.execPath, [main, '--help'], { encoding: 'utf8' })).toContain('Exit codes:')
  })
})

describe('with --json', () => {
  test.each([
    [['sned'], "unknown command 'sned'"],
    [['why'], "missing required argument 'what'"],
    [['tail', '--state', 'lost'], 'There is no "lost". Allowed are: received'],
    [['tail', '--lnes', '3'], 'Did you mean --lines?'],
  ])('the arguments %j are refused as JSON', async (args, text) => {
    ana = somebody()
    const { code, stderr } = await ana.run([...args, '--json'])
    const { error } = JSON.parse(stderr)
    expect([code, error]).toEqual([2, { message: expect.stringContaining(text), exitCode: 2 }])
  })
})

describe('control characters of others', () => {
  const ESCAPE = '\u001b[2J'
  const message = { _id: 'm', state: 'dead', reason: ESCAPE }
  const refused = {
    ...{ code: ESCAPE, title: ESCAPE, requestId: ESCAPE },
    errors: [{ path: `/${ESCAPE}`, message: ESCAPE }],
  }
  const change = { resource: 'steps', _id: 1, action: 'update', changes: [`/${ESCAPE}`] }
  const summary = { create: 0, update: 1, unchanged: 0 }
  const finding = { resource: 'steps', _id: 1, path: `/${ESCAPE}`, code: 'x', message: ESCAPE }
  const me = { username: ESCAPE, role: { name: ESCAPE }, workspace: { host: ESCAPE } }

  test.each([
    { args: [...SEND, '--wait', '1'], exit: 1 },
    { args: ['why', 'm'], exit: 6 },
    { args: ['import', '-', '--dry-run'], exit: 0 },
    { args: ['check'], exit: 1 },
    { args: ['login', '--token-stdin'], exit: 0 },
  ])('are not shown by $args', async ({ args, exit }) => {
    await behind({
      '/api/hooks/whatsapp': (_req, res) => res.writeHead(200, { 'x-message-id': 'm' }).end('{}'),
      '/rest/messages/m': args[0] === 'why' ? json(refused, 422) : json(message),
      '/rest/export': json({ resources: { steps: [{ _id: 1, [ESCAPE]: 1 }] } }),
      '/rest/import': json({ plan: [change], summary }),
      '/rest/check': json({ data: [finding], next: null }),
      '/api/auth/me': json(me),
    })
    const input = JSON.stringify({ resources: { steps: [{ _id: 1, [ESCAPE]: 2 }] } })
    const { code, stdout, stderr } = await ana.run(args, { input })
    expect([code, stdout + stderr]).toEqual([exit, expect.stringContaining('\ufffd[2J')])
    expect(stdout + stderr).not.toContain('\u001b')
  })
})

test('parley listen goes on where the receiver does not respond', async () => {
  const receiver = await listen(() => undefined)
  await behind({ '/rest/events': stream('event: thread\ndata: {"_id":"t"}\n\n') })
  const child = ana.start(['listen', new URL(receiver.url).port, '--json'])
  let stdout = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  const ended = once(child, 'close')
  const isSaid = () => stdout.includes('"outcome"') || child.exitCode !== null
  await eventually(isSaid, { timeoutMs: 40_000 })
  child.kill('SIGINT')
  await ended
  await receiver.close()
  expect(stdout).toContain('"outcome":"TimeoutError"')
})
