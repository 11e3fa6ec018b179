import { connect, type Socket } from 'node:net'
import { quantile } from '../report/results.ts'
import { closedLoop, startOpenLoop } from './loops.ts'

/** A request as bytes, ready to be written to a connection that is kept open. */
export function requestBytes(options: {
  /** `POST` when not given. */
  method?: string
  path: string
  headers: Record<string, string>
  body?: string | undefined
}): Buffer {
  const { method = 'POST', path, headers, body } = options
  const own = { host: 'bench', ...headers }
  const all =
    body === undefined
      ? own
      : { ...own, 'content-length': `${Buffer.byteLength(body)}`, 'content-type': 'application/json' }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body ?? ''}`)
}

/** One connection, one request at a time. It costs far less than an HTTP client, which would be the bottleneck. */
interface Line {
  /** Resolves with the status once the answer is there. */
  send(request: Buffer): Promise<number>
  close(): void
}

async function openLine(port: number): Promise<Line> {
  const socket = await new Promise<Socket>((resolve, reject) => {
    const opened = connect({ port, host: '127.0.0.1', noDelay: true }, () => resolve(opened))
    opened.once('error', reject)
  })
  let received = ''
  let waiting: PromiseWithResolvers<number> | undefined
  socket.setEncoding('latin1')
  socket.on('data', (text: string) => {
    received += text
    const end = received.indexOf('\r\n\r\n')
    if (end === -1) return
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(received.slice(0, end))?.[1])
    if (received.length < end + 4 + length) return
    const status = Number(received.slice(9, 12))
    received = ''
    waiting?.resolve(status)
  })
  socket.on('close', () => waiting?.reject(new Error('the connection was closed')))
  return {
    send(request) {
      waiting = Promise.withResolvers<number>()
      socket.write(request)
      return waiting.promise
    },
    close: () => socket.destroy(),
  }
}

export interface Load {
  perSecond: number
  /** Milliseconds. */
  p50: number
  p99: number
  failures: number
}

interface LoadOptions {
  port: number
  connections: number
  /** The request with this number, counted from 0; `from` is when its time is counted from (`performance.now`). */
  request(index: number, from: number): Buffer
}

/** The requests of a load that sends the same ones again and again. */
export function inTurns(requests: readonly Buffer[]): LoadOptions['request'] {
  return (index) => requests[index % requests.length] as Buffer
}

/** As many requests as `connections` make one after another until `goesOn` says no. */
export function asFastAsPossible(options: LoadOptions & { goesOn(count: number): boolean }): Promise<Load> {
  const { connections, goesOn } = options
  return measured(options, ({ lines, timed }) =>
    closedLoop({
      ...{ workers: connections, goesOn },
      send: (index, worker) => timed(lines[worker], index, performance.now()),
    }),
  )
}

/** `rate` requests a second, each at its time; one that finds no free connection waits for it, and its wait counts. */
export function atRate(options: LoadOptions & { rate: number; seconds: number }): Promise<Load> {
  const { connections, rate, seconds } = options
  return measured(options, ({ lines, timed }) => {
    const free = [...lines]
    const send = async (index: number, from: number) => {
      const line = free.pop()
      const ms = await timed(line, index, from)
      if (line !== undefined) free.push(line)
      return ms
    }
    return startOpenLoop({ rate, inFlight: connections, most: rate * seconds, send }).ended
  })
}

interface Connected {
  lines: readonly Line[]
  /** Resolves with the milliseconds since `from`. */
  timed(line: Line | undefined, index: number, from: number): Promise<number>
}

async function measured(
  { port, connections, request }: LoadOptions,
  load: (connected: Connected) => Promise<number[]>,
): Promise<Load> {
  let failures = 0
  const timed: Connected['timed'] = async (line, index, from) => {
    const status = await line?.send(request(index, from))
    if (status === undefined || status < 200 || status > 299) failures++
    return performance.now() - from
  }
  const lines = await Promise.all(Array.from({ length: connections }, () => openLine(port)))
  const started = performance.now()
  const times = await load({ lines, timed })
  const seconds = (performance.now() - started) / 1_000
  for (const line of lines) line.close()
  const [p50, p99] = [quantile(times, 0.5), quantile(times, 0.99)]
  return { perSecond: times.length / seconds, p50, p99, failures }
}
