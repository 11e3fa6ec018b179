import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import type { EndpointCall } from '../call-endpoint.ts'

/** The published `@modelcontextprotocol/server-everything` as a process on a free port. */
export interface EverythingServer {
  url: string
  close(): Promise<void>
}

export async function startEverythingServer(): Promise<EverythingServer> {
  const port = await freePort()
  const entry = createRequire(import.meta.url).resolve(
    '@modelcontextprotocol/server-everything/dist/index.js',
  )
  const server = spawn(process.execPath, [entry, 'streamableHttp'], {
    env: { PATH: process.env.PATH, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  await new Promise<void>((resolve, reject) => {
    server.stderr.on('data', (text: Buffer) => {
      if (text.includes('listening on port')) resolve()
    })
    server.once('exit', (code) => reject(new Error(`the MCP server ended with ${code}`)))
  })
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    async close() {
      const exited = once(server, 'exit')
      server.kill('SIGKILL')
      await exited
    },
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Speaks as much of the protocol as a client needs; `listed` and `called` answer its two methods. */
export const speaking =
  (
    listed: (call: EndpointCall) => object,
    called: (call: EndpointCall, res: ServerResponse) => object | undefined = () => ({}),
  ) =>
  (call: EndpointCall, res: ServerResponse) => {
    if (call.method !== 'POST') return void res.writeHead(200).end()
    const { id, method } = call.json
    if (id === undefined) return void res.writeHead(202).end()
    const result =
      method === 'initialize'
        ? {
            protocolVersion: '2025-06-18',
            capabilities: { tools: {} },
            serverInfo: { name: 's', version: '1' },
          }
        : method === 'tools/list'
          ? listed(call)
          : called(call, res)
    if (result === undefined) return undefined
    res.writeHead(200, { 'content-type': 'application/json' })
    res.end(JSON.stringify({ jsonrpc: '2.0', id, ...('error' in result ? result : { result }) }))
  }

/** A tool as a server lists it. */
export const tool = (name: string, more: object = {}) => ({ name, inputSchema: { type: 'object' }, ...more })

/** The result of a tool that says this. */
export const text = (said: string, more: object = {}) => ({
  content: [{ type: 'text', text: said }],
  ...more,
})
