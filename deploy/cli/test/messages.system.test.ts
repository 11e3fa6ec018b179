import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { succeeded } from '@parley/client/parley-error'
import { eventually } from '@parley/local/testing/service-under-test'
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

const send = async (...args: string[]) =>
  String((await ana.json(['send', '--channel', 'support-line', ...args]))[0]?._id)

/** The environment of somebody whose role may read so much of the messages, and nothing else. */
const asReaderOf = async (read: string) => {
  const name = `reader of ${read}`
  const permissions = [{ schema: "{{resource}} == 'messages'", read, write: false }]
  await succeeded(world.client.api.POST('/rest/roles', { body: { name, permissions } }))
  const { token } = await succeeded(world.client.api.POST('/api/auth/tokens', { body: { name, role: name } }))
  return { PARLEY_URL: world.system.url, PARLEY_TOKEN: token }
}

const misbehave = (behaviour: object) =>
  fetch(`${world.simulatorUrl}/simulator/behaviour`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ phoneNumberId: '1001', ...behaviour }),
  })

describe('parley send', () => {
  test('sends a template and waits until the provider has it', async () => {
    const template = ['--template', 'order_update', '--language', 'pt_BR', '--var', 'João', '--var', '4711']
    const [sent] = await ana.json([
      'send',
      '--channel',
      'support-line',
      '--phone',
      '+5511900000001',
      ...template,
      '--wait',
      '30',
    ])
    expect(sent).toMatchObject({ isRepeat: false, state: 'sent' })
    const listed = await fetch(`${world.simulatorUrl}/simulator/sends?phoneNumberId=1001`)
    const { data } = (await listed.json()) as { data: object[] }
    expect(data).toMatchObject([
      { to: '5511900000001', template: 'order_update', variables: ['João', '4711'] },
    ])
  })

  test('with a key is one message however often it is run', async () => {
    const args = ['--phone', '+5511900000002', '--text', 'once', '--key', 'order-1']
    const [first, second] = [await send(...args), await send(...args)]
    expect(second).toBe(first)
  })

  test.each([{ json: [] }, { json: ['--json'] }])(
    'says which message was accepted also where it may not read it: %j',
    async ({ json }) => {
      const body = { name: `poster ${json}`, role: 'PROVIDER' }
      const { data } = await world.client.api.POST('/api/auth/tokens', { body })
      const args = [
        'send',
        '--channel',
        'support-line',
        '--phone',
        '+5511900000008',
        '--text',
        'x',
        '--wait',
        '5',
      ]
      const env = { PARLEY_URL: world.system.url, PARLEY_TOKEN: String(data?.token) }
      const { code, stdout } = await ana.run([...args, ...json], { env })
      const [id] = /[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/.exec(stdout) ?? []
      expect([code, id]).toEqual([4, expect.any(String)])
      const found = await eventually(() => world.client.messages.get(String(id)).catch(() => undefined))
      expect(found.phone).toBe('5511900000008')
    },
  )

  test('that waits ends with 1 where the message is given up, or not sent in time', async () => {
    const args = ['send', '--channel', 'support-line', '--phone', '+5511900000009', '--text', 'x', '--wait']
    await misbehave({ failures: [{ status: 401, code: 190, share: 1 }] })
    const dead = await ana.run([...args, '30', '--thread', 'wait-dead'])
    expect([dead.code, dead.stdout]).toEqual([1, expect.stringMatching(/^dead .*190/m)])
    await misbehave({ failures: [{ status: 500, code: 131000, share: 1 }] })
    const late = await ana.run([...args, '1', '--thread', 'wait-late'])
    await misbehave({})
    expect([late.code, late.stdout]).toEqual([1, expect.stringContaining('It is not sent yet after 1 s.')])
  })

  test('takes a whole message from standard input, and says where it is not JSON', async () => {
    const body = {
      extId: 'support-line',
      user: { phone: '1' },
      thread: { extId: 't' },
      answer: { message: 'x' },
    }
    expect((await ana.run(['send', '--body', '-'], { input: JSON.stringify(body) })).code).toBe(0)
    const wrong = await ana.run(['send', '--body', '-'], { input: '{' })
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('Standard input is not JSON')])
  })

  test('names each field that is wrong, and ends with 6', async () => {
    const body = { extId: 5, user: {}, thread: {}, answer: {} }
    const { code, stderr } = await ana.run(['send', '--body', '-'], { input: JSON.stringify(body) })
    expect([code, stderr]).toEqual([6, expect.stringContaining('\n  /extId ')])
  })

  test('says that accepted is not sent, and that a number is hardly one', async () => {
    const args = ['send', '--channel', 'support-line', '--text', 'x']
    const { code, stdout } = await ana.run([...args, '--phone', '12'])
    expect(code).toBe(0)
    expect(stdout).toContain('12 is hardly a phone number')
    expect(stdout).toContain('--wait 10 waits until it is')
    expect((await ana.run([...args, '--phone', '+5511900000011'])).stdout).not.toContain('hardly')
  })
})

describe('parley why', () => {
  test('explains a sent message by its id, phone, wamid, thread and request', async () => {
    const id = await send(
      '--phone',
      '+55 (11) 90000-0003',
      '--thread',
      'why-sent',
      '--text',
      'hello',
      '--wait',
      '30',
    )
    const { sends, requestId } = await world.client.messages.get(id)
    const names = [
      id,
      '+5511900000003',
      '5511900000003',
      String(sends[0]?.providerId),
      'why-sent',
      String(requestId),
    ]
    for (const name of names) {
      const { code, stdout } = await ana.run(['why', name])
      expect([name, code, stdout.includes(id)]).toEqual([name, 0, true])
    }
    const { stdout } = await ana.run(['why', id])
    expect(stdout).toContain('Accepted and stored.')
    expect(stdout).toContain('Waits  It waits for the provider to say that it was delivered.')
    expect(stdout).not.toContain('\u001b')
  })

  test('of a refused send says whose fault it is and what to do', async () => {
    await misbehave({ failures: [{ status: 401, code: 190, share: 1 }] })
    const id = await send('--phone', '+5511900000004', '--text', 'x', '--wait', '30')
    await misbehave({})
    const { stdout } = await ana.run(['why', id])
    expect(stdout).toContain('Send 1 (text) was refused')
    expect(stdout).toContain('Fault  The channel:')
    expect(stdout).toContain(
      "To do  The channel's config.accessToken has expired or is wrong: store a new one.",
    )
    expect(stdout).toContain(`parley replay ${id}`)
    const [json] = await ana.json(['why', '+5511900000004'])
    expect(json).toMatchObject({
      message: { _id: id, state: 'dead' },
      fault: expect.stringContaining('The channel'),
    })
  })

  test('of what is retried says what it waits for, and of the next in its thread that it waits for that', async () => {
    await misbehave({ failures: [{ status: 500, code: 131000, share: 1 }] })
    const id = await send('--phone', '+5511900000005', '--thread', 'why-waits', '--text', 'x')
    // Between two waits it is tried.
    await eventually(async () => {
      const { stdout } = await ana.run(['why', id])
      return /Waits {2}It waits for its next try, after one that failed/.test(stdout)
    })
    const next = await send('--phone', '+5511900000005', '--thread', 'why-waits', '--text', 'y')
    await eventually(() => world.client.messages.get(next).catch(() => undefined))
    expect((await ana.run(['why', next])).stdout).toContain(
      `It waits for ${id}, which came before it in its thread`,
    )
    const env = await asReaderOf(`{{doc._id}} == '${next}'`)
    const { code, stdout } = await ana.run(['why', next], { env })
    expect([code, stdout]).toEqual([0, expect.stringContaining('Accepted and stored.')])
    await misbehave({})
  })

  test('of an unrouted message says which channel is missing', async () => {
    const [sent] = await ana.json([
      'send',
      '--channel',
      'no-such-line',
      '--phone',
      '1',
      '--text',
      'x',
      '--wait',
      '5',
    ])
    expect(sent).toMatchObject({ state: 'unrouted', warning: 'unknown-channel' })
    const { stdout } = await ana.run(['why', String(sent?._id)])
    expect(stdout).toContain('To do  Create a channel with the external id no-such-line')
  })

  test('asks for a channel that may be there where the role reads messages alone', async () => {
    const id = await send('--channel', 'no-such-line', '--phone', '1', '--text', 'x', '--wait', '30')
    const { code, stdout } = await ana.run(['why', id], {
      env: await asReaderOf('{{account.workspace._id}}'),
    })
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^unrouted No channel was found for it/)])
    expect(stdout).toContain(
      'To do  Create a channel with the external id no-such-line where there is none: this role may not read channels.\n' +
        `       Then: parley replay ${id}`,
    )
  })

  test('of what nobody knows ends with 5', async () => {
    const { code, stderr } = await ana.run(['why', 'nothing'])
    expect([code, stderr]).toEqual([5, expect.stringContaining('Nothing is known of "nothing"')])
  })
})

describe('parley replay', () => {
  test('runs one message, or those that options pick, again', async () => {
    await misbehave({ failures: [{ status: 401, code: 190, share: 1 }] })
    const ids = [1, 2, 3].map((n) =>
      send('--phone', `+551190000001${n}`, '--thread', `r-${n}`, '--text', 'x', '--wait', '30'),
    )
    const [one = ''] = await Promise.all(ids)
    await misbehave({})
    const picked = ['--fault', 'channel', '--state', 'dead', '--from', '1h']
    expect(await ana.json(['replay', '--thread', 'r-2', ...picked, '--dry-run'])).toEqual([
      { picked: 1, replayed: 0 },
    ])
    expect((await ana.run(['replay', one])).stdout).toContain('run again')
    await eventually(async () => (await world.client.messages.get(one)).state === 'sent')
    const refused = await ana.run(['replay', one])
    expect([refused.code, refused.stderr]).toEqual([6, expect.stringContaining('not_replayable')])
    const asked = await ana.run(['replay', '--thread', 'r-2', ...picked])
    expect([asked.code, asked.stderr]).toEqual([2, 'error: There is no terminal to ask at: add --yes.\n'])
    const done = await ana.atTerminal(['replay', '--thread', 'r-2', ...picked], [['[y/N]', 'y']])
    expect([done.code, done.screen]).toEqual([0, expect.stringContaining('message run again')])
    expect(await ana.json(['replay', '--phone', '+5511900000013', '--yes'])).toEqual([
      { picked: 1, replayed: 1, more: false },
    ])
  })
})

describe('parley tail', () => {
  test('shows messages as they come, one line for each state', async () => {
    const child = ana.start(['tail', '--thread', 'tailed', '--lines', '0', '--json'])
    let output = ''
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
    const ended = new Promise((resolve) => child.once('exit', resolve))
    // It shows what comes once it follows, which nothing says; so one after another is sent.
    await eventually(async () => {
      await send('--phone', '+5511900000006', '--thread', 'tailed', '--text', 'x')
      return output === '' ? undefined : true
    })
    const second = await send('--phone', '+5511900000006', '--thread', 'tailed', '--text', 'y')
    await send('--phone', '+5511900000006', '--thread', 'not tailed', '--text', 'y')
    await eventually(async () => output.includes(second))
    child.kill('SIGINT')
    expect(await ended).toBe(130)
    const shown = output
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    const states = shown.map(({ _id, state }) => `${_id} ${state}`)
    expect(new Set(states).size).toBe(states.length)
    expect(new Set(shown.map(({ thread }) => thread))).toEqual(new Set(['tailed']))
  })

  test('is coloured at a terminal only', async () => {
    await send('--phone', '+5511900000007', '--thread', 'coloured', '--text', 'x', '--wait', '30')
    const args = ['tail', '--thread', 'coloured', '--no-follow']
    expect((await ana.run(args)).stdout).toMatch(
      /^\d\d:\d\d:\d\d sent {6}support-line → \+5511900000007 [\w-]+\n$/,
    )
    expect((await ana.atTerminal(args)).screen).toContain('\u001b[34msent')
  })
})
