import { afterEach, describe, expect, jest, test } from '@jest/globals'
import { readableLine } from '@parley/local/terminal/log-line'
import { readyText } from '@parley/local/terminal/ready-text'
import { createStatusLine } from '@parley/local/terminal/status-line'
import { heapLimitMib, memoryBound } from '@parley/shared/memory'

const logged = (fields: object) =>
  `dispatcher-2  ${JSON.stringify({ level: 'warn', time: '2026-11-21T22:14:17.954Z', service: 'dispatcher', ...fields })}`

describe('a line of the log', () => {
  test('says which message is dead, on which channel, and why', () => {
    const line = readableLine(
      logged({
        ...{ msg: 'message', messageId: '0192-a', workspace: 7, channel: 'order-line', state: 'dead' },
        ...{ reason: 'The access token has expired', fault: 'channel', sends: 1, ms: 12 },
      }),
    )
    expect(line).toMatch(
      /^\d\d:\d\d:\d\d dead {2}0192-a on order-line: The access token has expired \(channel\)$/,
    )
  })

  test('says in words what happened, where, and to what', () => {
    expect(readableLine(logged({ msg: 'lease lost', partition: 3 }))).toMatch(
      /^\d\d:\d\d:\d\d warn {2}dispatcher-2: lease lost \(partition 3\)$/,
    )
    expect(readableLine(logged({ msg: 'request failed', err: { message: 'no', stack: 'at …' } }))).toMatch(
      /: request failed \(reason no\)$/,
    )
  })

  test('that is no log entry stays as it is', () => {
    for (const line of ['gateway       Error: bind EADDRINUSE', 'Redis: found', 'webhook       {"half"'])
      expect(readableLine(line)).toBe(line)
  })
})

describe('the status line', () => {
  afterEach(() => void jest.useRealTimers())

  const written = (isTTY: boolean, use: (line: ReturnType<typeof createStatusLine>) => void) => {
    const parts: string[] = []
    use(createStatusLine({ isTTY, columns: 80, write: (text: unknown) => parts.push(String(text)) > 0 }))
    return parts.join('')
  }

  test('is a line once where nobody watches, without control characters', () => {
    const text = written(false, (line) => {
      line.status('Starting the services')
      line.say('A line')
      line.end()
    })
    expect(text).toBe('Starting the services …\nA line\n')
  })

  test('where nobody watches says each 10 s how long it takes so far, until it ends', async () => {
    jest.useFakeTimers({ now: 0 })
    const parts: string[] = []
    const line = createStatusLine({ isTTY: false, write: (text: unknown) => parts.push(String(text)) > 0 })
    line.status('Starting the servers')
    await jest.advanceTimersByTimeAsync(20_000)
    line.status('Starting the services')
    await jest.advanceTimersByTimeAsync(10_000)
    line.end()
    await jest.advanceTimersByTimeAsync(10_000)
    expect(parts.join('').split('\n')).toEqual([
      'Starting the servers …',
      ...['Starting the servers … (10 s)', 'Starting the servers … (20 s)'],
      'Starting the services …',
      ...['Starting the services … (30 s)', ''],
    ])
  })

  test('on a terminal leaves the lines that were said, and nothing of itself', () => {
    const text = written(true, (line) => {
      line.status('Starting the services')
      line.say('A line')
      line.end()
    })
    expect(text).toContain('Starting the services (0 s)')
    const clear = '\r\u001b[2K'
    expect(text).toContain(`${clear}A line\n`)
    expect(text.endsWith(clear)).toBe(true)
  })
})

test('what npm start shows in the end is at most 80 columns wide, has no credentials, and says where the console is and what memory is used at most', () => {
  const url = (port: number) => `http://127.0.0.1:${port}`
  const names = [
    'gateway',
    'identity',
    'webhook',
    'configuration',
    'dispatcher',
    'dispatcher-2',
    'campaigns',
    'simulator',
  ]
  const processes = Object.fromEntries(names.map((name, at) => [name, { pid: at, url: url(40_000 + at) }]))
  const server = (name: string, at: string) => ({
    ...{ name, url: at, source: 'the official download, under Wine, because nothing else is here' },
    ...{ pid: 1, exited: new Promise<void>(() => undefined) },
    restart: async () => undefined,
  })
  const text = readyText(
    {
      ...{
        pid: 1,
        processes,
        gatewayUrl: url(8_080),
        simulatorUrl: url(40_006),
        modelSimulatorUrl: url(40_007),
      },
      ...{ mongoUrl: '', amqpUrl: '', redisUrl: '' },
    },
    {
      mongo: server('mongodb', 'mongodb://127.0.0.1:27017/?replicaSet=rs0') as never,
      rabbitmq: server('rabbitmq', 'amqp://guest:secret@127.0.0.1:5672') as never,
      redis: server('redis', 'redis://127.0.0.1:6379') as never,
    },
    { memory: 'small', together: true },
  )
  expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80)
  expect(text).toContain('Console     http://127.0.0.1:8080/console')
  expect(text).toContain('npm run try')
  const { atMostMib } = memoryBound('small', heapLimitMib('small'))
  expect(text).toContain(`Memory      all services at most ${atMostMib} MiB, MongoDB's cache 256 MiB`)
  expect(text).toContain('127.0.0.1:5672')
  expect(text).not.toContain('secret')
})
