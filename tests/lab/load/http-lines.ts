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
  /** Resolves, once the answer is there, with the milliseconds since `from`. */
  send(request: Buffer, from: number): Promise<number>
  close(): void
}

/** `failed` is called for an answer that is not 2xx. */
async function openLine(port: number, failed: () => void): Promise<Line> {
  const socket = await new Promise<Socket>((resolve, reject) => {
    const opened = connect({ port, host: '127.0.0.1', noDelay: true }, () => resolve(opened))
    opened.once('error', reject)
  })
  let received = ''
  let since = 0
  let waiting: PromiseWithResolvers<number> | undefined
  socket.setEncoding('latin1')
  socket.on('data', (text: string) => {
    received += text
    const end = received.indexOf('\r\n\r\n')
    if (end === -1) return
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(received.slice(0, end))?.[1])
    if (received.length < end + 4 + length) return
    if (received[9] !== '2') failed()
    received = ''
    waiting?.resolve(performance.now() - since)
  })
  socket.on('close', () => waiting?.reject(new Error('the connection was closed')))
  return {
    send(request, from) {
      since = from
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
  const { connections, request, goesOn } = options
  return measured(options, (lines) =>
    closedLoop({
      ...{ workers: connections, goesOn },
      send(index, worker) {
        const from = performance.now()
        return (lines[worker] as Line).send(request(index, from), from)
      },
    }),
  )
}

/** `rate` requests a second, each at its time; one that finds no free connection waits for it, and its wait counts. */
export function atRate(options: LoadOptions & { rate: number; seconds: number }): Promise<Load> {
  const { connections, request, rate, seconds } = options
  return measured(options, (free) => {
    const send = async (index: number, from: number) => {
      const line = free.pop() as Line
      const ms = await line.send(request(index, from), from)
      free.push(line)
      return ms
    }
    return startOpenLoop({ rate, inFlight: connections, most: rate * seconds, send }).ended
  })
}

/** Opens the connections, and says how fast the requests of a load over them were, and how many failed. */
async function measured(
  { port, connections }: LoadOptions,
  load: (lines: Line[]) => Promise<number[]>,
): Promise<Load> {
  let failures = 0
  const lines = await Promise.all(
    Array.from({ length: connections }, () => openLine(port, () => void failures++)),
  )
  const started = performance.now()
  const times = await load([...lines])
  const seconds = (performance.now() - started) / 1_000
  for (const line of lines) line.close()
  const [p50, p99] = [quantile(times, 0.5), quantile(times, 0.99)]
  return { perSecond: times.length / seconds, p50, p99, failures }
}
