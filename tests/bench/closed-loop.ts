import { Agent, request } from 'node:http'

export interface LoopCall {
  method: string
  path: string
  body?: unknown
}

export interface Measured {
  perSecond: number
  /** Milliseconds. */
  p50: number
  p99: number
  failures: number
}

/** As many requests as `connections` make one after another for `seconds`. */
export async function closedLoop(options: {
  url: string
  connections: number
  seconds: number
  headers(): Record<string, string>
  next(index: number): LoopCall
}): Promise<Measured> {
  const agent = new Agent({ keepAlive: true, maxSockets: options.connections })
  const times: number[] = []
  let failures = 0
  let index = 0
  const started = performance.now()
  const until = started + options.seconds * 1_000
  const work = async () => {
    while (performance.now() < until) {
      const began = performance.now()
      const status = await send(agent, options, options.next(index++))
      times.push(performance.now() - began)
      if (status !== 200) failures++
    }
  }
  await Promise.all(Array.from({ length: options.connections }, work))
  agent.destroy()
  const seconds = (performance.now() - started) / 1_000
  times.sort((a, b) => a - b)
  const at = (part: number) => times[Math.floor((times.length - 1) * part)] ?? 0
  return { perSecond: times.length / seconds, p50: at(0.5), p99: at(0.99), failures }
}

function send(
  agent: Agent,
  { url, headers }: { url: string; headers(): Record<string, string> },
  { method, path, body }: LoopCall,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const payload = body === undefined ? undefined : JSON.stringify(body)
    const type = payload === undefined ? {} : { 'content-type': 'application/json' }
    const sent = request(url + path, { method, agent, headers: { ...headers(), ...type } }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0))
    })
    sent.on('error', reject)
    sent.end(payload)
  })
}
