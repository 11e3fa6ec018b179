import { connect, type Socket } from 'node:net'

/** A request as bytes, ready to be written to a connection that is kept open. */
export function requestBytes(options: {
  path: string
  headers: Record<string, string>
  body: string
}): Buffer {
  const { path, headers, body } = options
  const lines = Object.entries({
    host: 'bench',
    ...headers,
    'content-length': String(Buffer.byteLength(body)),
  })
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  return Buffer.from(`POST ${path} HTTP/1.1\r\n${head}content-type: application/json\r\n\r\n${body}`)
}

/** A GET likewise. */
export function getBytes({ path, headers }: { path: string; headers: Record<string, string> }): Buffer {
  const lines = Object.entries({ host: 'bench', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(`GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`)
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
export async function asFastAsPossible(
  options: LoadOptions & { goesOn(count: number): boolean },
): Promise<Load> {
  const { port, connections, request, goesOn } = options
  const times: number[] = []
  let failures = 0
  let count = 0
  const started = performance.now()
  const work = async () => {
    const line = await openLine(port)
    while (goesOn(count)) {
      const began = performance.now()
      const status = await line.send(request(count++, began))
      times.push(performance.now() - began)
      if (status < 200 || status > 299) failures++
    }
    line.close()
  }
  await Promise.all(Array.from({ length: connections }, work))
  return summary(times, failures, performance.now() - started)
}

/**
 * `rate` requests a second, each at its time, whether earlier ones are answered or not. A request that finds no
 * free connection waits for one, and its wait counts.
 */
export async function atRate(options: LoadOptions & { rate: number; seconds: number }): Promise<Load> {
  const { port, connections, request, rate, seconds } = options
  const total = rate * seconds
  const times: number[] = []
  let failures = 0
  let next = 0
  const started = performance.now()
  const work = async () => {
    const line = await openLine(port)
    while (next < total) {
      const index = next++
      const due = started + (index * 1_000) / rate
      const early = due - performance.now()
      if (early > 0) await new Promise((resolve) => setTimeout(resolve, early))
      // A timer may be early, by less than a millisecond.
      const from = Math.min(due, performance.now())
      const status = await line.send(request(index, from))
      times.push(performance.now() - from)
      if (status < 200 || status > 299) failures++
    }
    line.close()
  }
  await Promise.all(Array.from({ length: connections }, work))
  return summary(times, failures, performance.now() - started)
}

function summary(times: number[], failures: number, ms: number): Load {
  times.sort((a, b) => a - b)
  const at = (part: number) => times[Math.floor((times.length - 1) * part)] ?? 0
  return { perSecond: times.length / (ms / 1_000), p50: at(0.5), p99: at(0.99), failures }
}
