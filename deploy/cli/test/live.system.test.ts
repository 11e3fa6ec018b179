import { createServer, type IncomingHttpHeaders } from 'node:http'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { succeeded } from '@parley/client/parley-error'
import { verifyWebhook } from '@parley/client/webhook'
import { eventually, type Listening, listen, type Parsed } from '@parley/local/testing/service-under-test'
import { type CliWorld, type Somebody, signedIn, startCliWorld } from './cli-world.ts'

let world: CliWorld
let ana: Somebody
beforeAll(async () => {
  world = await startCliWorld()
  ana = await signedIn(world)
})
afterAll(async () => {
  ana.remove()
  await world.close()
})

/** A program that runs until it is stopped, and what it has written. */
function running(args: string[]) {
  const child = ana.start(args)
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  return {
    output: () => output,
    until: (text: string) => eventually(() => output.includes(text)),
    stop: () => {
      child.kill('SIGINT')
      return ended
    },
  }
}

const send = (thread: string) =>
  world.client.messages.send({
    ...{ extId: 'support-line', user: { phone: '+5511900000042' }, thread: { extId: thread } },
    answer: { message: 'hello' },
  } as never)

describe('parley listen', () => {
  const received: { headers: IncomingHttpHeaders; body: string }[] = []
  let receiver: Listening
  beforeAll(async () => {
    receiver = await listen(async (req, res) => {
      let body = ''
      for await (const part of req) body += part
      received.push({ headers: req.headers, body })
      res.writeHead(204).end()
    })
  })
  afterAll(() => receiver.close())
  beforeEach(() => {
    received.length = 0
  })

  test('posts the events of a thread to a local receiver, signed with the secret that it says', async () => {
    const program = running(['listen', new URL(receiver.url).port, '--thread', 'heard', '--path', '/events'])
    await program.until('signed with')
    const secret = /whsec_\S+/.exec(program.output())?.[0] ?? ''
    await send('not heard')
    const { id } = await send('heard')
    await program.until('message.sent')
    expect(await program.stop()).toBe(130)
    expect(program.output()).toMatch(new RegExp(`message\\.received ${id} 204\\n`))
    const events = await Promise.all(
      received.map(({ headers, body }) => verifyWebhook(headers as never, body, [secret])),
    )
    // The thread's own event may come before or after the program is stopped.
    const ofMessages = events.filter((event) => (event as Parsed).type !== 'thread')
    expect(new Set(ofMessages.map((event) => (event as Parsed).data._id))).toEqual(new Set([id]))
    expect(events.map((event) => (event as Parsed).type)).toEqual(
      expect.arrayContaining(['message', 'message.received', 'message.sending', 'message.sent']),
    )
    const ids = received.map(({ headers }) => headers['webhook-id'])
    expect(new Set(ids).size).toBe(ids.length)
  })

  test('posts only what --events names', async () => {
    const port = new URL(receiver.url).port
    const program = running(['listen', port, '--thread', 'chosen', '--events', 'message.s*,thread'])
    await program.until('signed with')
    await send('chosen')
    await program.until('message.sent')
    await program.stop()
    const types = received.map(({ body }) => (JSON.parse(body) as { type: string }).type)
    expect(new Set(types)).toEqual(
      new Set(['message.sending', 'message.sent', ...(types.includes('thread') ? ['thread'] : [])]),
    )
    const { code, stderr } = await ana.run(['listen', port, '--events', 'message.gone'])
    expect([code, stderr]).toEqual([2, expect.stringContaining('No event is called "message.gone"')])
  })

  test.each([
    [404, 'there is nothing at /?a=1&b=2: --path says where the receiver is'],
    [401, 'the receiver refuses it: does it verify with this secret?'],
    [307, 'it redirects to /elsewhere, which no delivery follows'],
    [500, 'the receiver failed: its own log says why'],
  ])('says in words what %i of the receiver means', async (status, words) => {
    const refusing = await listen((_req, res) => void res.writeHead(status, { location: '/elsewhere' }).end())
    const program = running(['listen', new URL(refusing.url).port, '--path', '/?a=1&b=2'])
    await program.until('signed with')
    await send('refused')
    await program.until(`${status}: ${words}`)
    await program.stop()
    await refusing.close()
  })

  test('goes on while the receiver is not there, and says so', async () => {
    const closed = createServer()
    await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve))
    const { port } = closed.address() as { port: number }
    await new Promise((resolve) => closed.close(resolve))
    const program = running(['listen', String(port), '--json'])
    await program.until('secret')
    await send('unheard')
    await program.until('"outcome":"ECONNREFUSED"')
    await program.stop()
  })

  test('says what a port and a secret look like', async () => {
    expect(await ana.run(['listen', 'x'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('a whole number from 1 to 65535'),
    })
    expect((await ana.run(['listen', '3000', '--secret', 'x'])).code).toBe(2)
  })
})

describe('parley trigger', () => {
  let handler: Listening
  let reply: string
  const received: { headers: IncomingHttpHeaders; body: string }[] = []
  beforeAll(async () => {
    handler = await listen(async (req, res) => {
      let body = ''
      for await (const part of req) body += part
      received.push({ headers: req.headers, body })
      res.writeHead(200).end(reply)
    })
  })
  afterAll(() => handler.close())
  const trigger = (what: string, ...options: string[]) =>
    ana.run(['trigger', what, new URL(handler.url).port, ...options])

  test('posts a message as a handler gets it, signed, and says what the handler says', async () => {
    reply = JSON.stringify({ answer: { message: 'It left this morning.' } })
    const { code, stdout } = await trigger('handler', '--path', '/handler')
    expect([code, stdout]).toEqual([0, expect.stringContaining('200\nIt says: It left this morning.\n')])
    const secret = /whsec_\S+/.exec(stdout)?.[0] ?? ''
    const { headers, body } = received.at(-1) ?? { headers: {}, body: '' }
    expect(await verifyWebhook(headers as never, body, [secret])).toMatchObject({
      input: 'Where is my order?',
    })
    reply = 'fine'
    expect(await trigger('handler')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('its response is no message'),
    })
  })

  test.each(['message.dead', 'thread.handed_off', 'configuration.assistant.updated', 'subscription.test'])(
    'posts an example of %s that has happened just now',
    async (type) => {
      const before = Date.now()
      expect((await trigger(type, '--json')).code).toBe(0)
      const event = JSON.parse(received.at(-1)?.body ?? '') as Parsed
      expect(event.type).toBe(type)
      expect(Date.parse(event.timestamp)).toBeGreaterThanOrEqual(before)
    },
  )

  test('names what there is where it is asked for something else, and says that nothing listens', async () => {
    expect(await trigger('message.gone')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('message.dead, '),
    })
    const closed = await listen((_req, res) => void res.end())
    await closed.close()
    const { code, stdout } = await ana.run(['trigger', 'message.dead', new URL(closed.url).port])
    expect([code, stdout]).toEqual([1, expect.stringContaining('nothing listens on 127.0.0.1')])
  })
})

test('parley without arguments says what there is', async () => {
  const { code, stdout } = await ana.run([])
  expect([code, stdout]).toEqual([0, expect.stringContaining('Usage: parley')])
})

describe('parley chat', () => {
  beforeAll(async () => {
    const assistant = { name: 'Marta', description: '', backstory: 'A helpful assistant.' }
    await succeeded(
      world.client.api.PUT('/rest/assistant/{id}', { params: { path: { id: 1 } }, body: assistant }),
    )
  })

  test('shows what the assistant says and the tools that it calls, at a terminal', async () => {
    const { code, screen } = await ana.atTerminal(
      ['chat', 'Marta', '--type', 'functionCall'],
      [
        ['You talk to Marta', 'Good morning'],
        ['Good morning', 'callback {"message": "One moment"}'],
        ['→', ''],
      ],
    )
    expect(code).toBe(0)
    expect(screen).toContain('\u001b[32mMarta')
    expect(screen).toContain('callback {"message":"One moment"}')
  })

  test('reads lines, remembers the conversation, and writes JSON', async () => {
    const { code, stdout } = await ana.run(['chat', '1', '--json', '--type', 'chat'], {
      input: 'first\nsecond\n',
    })
    expect(code).toBe(0)
    const trials = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Parsed)
    expect(trials.map(({ state, turns }) => [state, turns[0].text.includes('first')])).toEqual([
      ['done', true],
      ['done', false],
    ])
    expect(trials[1].turns[0].inputTokens).toBeGreaterThan(trials[0].turns[0].inputTokens)
  })

  test('of an assistant that is not there ends with 5', async () => {
    const { code, stderr } = await ana.run(['chat', 'Nobody'])
    expect([code, stderr]).toEqual([5, 'error: There is no assistant "Nobody".\n'])
    expect((await ana.run(['chat', '99'])).code).toBe(5)
  })
})

describe('parley tail', () => {
  test('shows each state that a message passes, live', async () => {
    const program = running(['tail', '--lines', '0', '--phone', '+55 11 90000-0042', '--json'])
    await eventually(async () => {
      await send('tailed live')
      return program.output() === '' ? undefined : true
    })
    const { id } = await send('tailed live')
    await program.until(`"${id}"`)
    await eventually(() => linesOf(program, id).includes('sent'))
    await program.stop()
    expect(linesOf(program, id)).toEqual(expect.arrayContaining(['received', 'sending', 'sent']))
  })

  const linesOf = (program: ReturnType<typeof running>, id: string) =>
    program
      .output()
      .split('\n')
      .filter((line) => line.includes(id))
      .map((line) => (JSON.parse(line) as Parsed).state)
})
