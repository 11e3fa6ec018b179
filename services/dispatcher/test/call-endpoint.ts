import type { IncomingMessage, ServerResponse } from 'node:http'
import { listen, type Parsed } from '@parley/local/testing/service-under-test'

export interface EndpointCall {
  method: string
  path: string
  headers: IncomingMessage['headers']
  text: string
  /** The text, parsed. */
  readonly json: Parsed
}

/** A server that the dispatcher calls. */
export interface CallEndpoint {
  url: string
  /** The calls since the last time it forgot them, in order. */
  calls: EndpointCall[]
  paths(): string[]
  /** Answers a call; 200 with an empty object, when nobody says otherwise. */
  respond(call: EndpointCall, res: ServerResponse): void
  /** Forgets the calls and how to answer them. */
  forget(): void
  close(): Promise<void>
}

export async function startCallEndpoint(): Promise<CallEndpoint> {
  const respond: CallEndpoint['respond'] = (_call, res) => void res.writeHead(200).end('{}')
  const { url, close } = await listen((req, res) => {
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => {
      const { method = '', url: path = '', headers } = req
      const text = Buffer.concat(chunks).toString()
      const call = {
        method,
        path,
        headers,
        text,
        get json() {
          return JSON.parse(text)
        },
      }
      endpoint.calls.push(call)
      endpoint.respond(call, res)
    })
  })
  const endpoint: CallEndpoint = {
    url,
    calls: [],
    respond,
    close,
    paths: () => endpoint.calls.map(({ path }) => path),
    forget: () => {
      endpoint.calls = []
      endpoint.respond = respond
    },
  }
  return endpoint
}
