import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import fc from 'fast-check'
import { type ForeignResponse, foreignResponses } from './families/foreign-responses.ts'
import { ask, prepareWorkspace } from './workspaces.ts'

/** Answers that an assistant is tried with at a time. */
const AT_ONCE = 4
const LOOK_MS = 50
const TRIAL_MS = 3_000
const EACH_MS = 3_000

/** The effects on other workspaces meanwhile. */
export interface ForeignResponsesRun {
  sent: number
  /** Requests of another workspace that were not answered with 200. */
  refused: number
  /** How long the slowest hundredth of its requests took at least, in milliseconds. */
  p99Ms: number
}

/**
 * Tries an assistant whose model, and whose MCP server, answers as one of the families says, while another workspace
 * reads its messages.
 */
export async function attackByResponses(
  url: string,
  { count, seed }: { count: number; seed: number },
): Promise<ForeignResponsesRun> {
  const [attacker, other] = [await prepareWorkspace(url), await prepareWorkspace(url)]
  const hostile = await startHostileServer(fc.sample(foreignResponses, { numRuns: count, seed }))
  const watched = watch(url, other.token)
  try {
    const baseUrl = `${hostile.url}/v1`
    const value = { provider: 'openai-compatible', model: 'hostile', baseUrl }
    const mcp = {
      name: 'hostile',
      description: '',
      specType: 'mcp',
      moduleUrl: `${hostile.url}/mcp`,
      spec: '',
    }
    await attacker.call('PUT', '/rest/actions/2', mcp)
    const assistant = { name: 'Hostile', description: '', backstory: '', actions: [2] }
    await attacker.call('PUT', '/rest/assistant/2', assistant)
    await attacker.call('PUT', '/rest/configs/hostile', {
      name: 'model',
      owner: 2,
      ownerType: 'assistant',
      value,
    })
    await attacker.call('PUT', '/rest/channels/3', channel)
    const until = performance.now() + count * EACH_MS
    const isOver = () => hostile.left() <= 0 || performance.now() > until
    let message = 0
    const worker = async () => {
      while (!isOver()) {
        await attacker.call('POST', '/api/hooks/whatsapp', messageOf(++message))
        // It is made again after an answer that breaks off, for longer than anybody waits here.
        const signal = AbortSignal.timeout(TRIAL_MS)
        await attacker.request('POST', '/rest/assistant/2/try', trial, signal).catch(() => undefined)
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, worker))
    if (hostile.left() > 0) throw new Error(`${hostile.left()} of ${count} answers were never asked for`)
  } finally {
    hostile.close()
  }
  return { sent: count, ...(await watched.stop()) }
}

/** Its model is asked for streams; a trial asks for whole responses. */
const channel = {
  name: 'Hostile',
  description: '',
  extId: 'hostile',
  hook: 'rpc',
  callback: 'rpc',
  handlerUrl: 'native:agents/functionCall',
  config: { assistantId: 2, streamResponseBy: 'token', turnTimeoutSeconds: 3, messageTimeoutSeconds: 5 },
}
const trial = { type: 'functionCall', messages: [{ role: 'person', text: 'Hello' }] }
const messageOf = (nth: number) => ({
  extId: 'hostile',
  user: { phone: '5511988887777' },
  thread: { extId: `thread-${nth}` },
  answer: {},
  input: 'Hello',
})

/** Answers each request with the next of these, the last ones again when there are no more. */
async function startHostileServer(responses: ForeignResponse[]) {
  let next = 0
  const server = createServer((req, res) => {
    req.resume()
    res.on('error', () => {})
    const response = responses[next++ % responses.length]
    if (response !== undefined) say(response, res)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    left: () => responses.length - next,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

function say({ contentType, first, unit, bytes }: ForeignResponse, res: ServerResponse): void {
  const piece = Buffer.from(unit.repeat(Math.max(1, Math.ceil(65_536 / unit.length))))
  res.writeHead(200, contentType === '' ? {} : { 'content-type': contentType })
  res.write(first)
  let sent = 0
  const more = () => {
    while (sent < bytes && !res.destroyed) {
      sent += piece.length
      if (!res.write(piece)) return void res.once('drain', more)
    }
    res.end()
  }
  more()
}

/** Reads the messages of a workspace again and again, until it is stopped. */
function watch(url: string, token: string) {
  const times: number[] = []
  let refused = 0
  let isOver = false
  const looking = (async () => {
    while (!isOver) {
      const started = performance.now()
      const { status } = await ask(url, { method: 'GET', path: '/rest/messages', token })
      times.push(performance.now() - started)
      if (status !== 200) refused++
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
    }
  })()
  return {
    async stop(): Promise<Pick<ForeignResponsesRun, 'refused' | 'p99Ms'>> {
      isOver = true
      await looking
      const sorted = times.toSorted((one, other) => one - other)
      return { refused, p99Ms: sorted[Math.floor(sorted.length * 0.99)] ?? 0 }
    },
  }
}
