import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'

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
