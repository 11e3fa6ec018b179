import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findFreePort } from '@parley/local/servers/choose-ports'
import { waitUntil } from '@parley/local/wait-until'
import type { Packages } from './fetch-packages.ts'

const READY_MS = 180_000
const PETSTORE = new URL('../specs/petstore.yaml', import.meta.url)
const LLAMA = new URL('llama-server.py', import.meta.url).pathname

/** A server that others wrote. */
interface ForeignServer {
  url: string
}

/** The servers that were started, until they are stopped together. */
export class ForeignServers {
  readonly #packages: Packages
  readonly #directory: string
  readonly #children: ChildProcess[] = []

  constructor(packages: Packages, directory: string) {
    this.#packages = packages
    this.#directory = directory
  }

  /** The MCP project's server of all features, over Streamable HTTP. */
  async everything(): Promise<ForeignServer> {
    const port = await findFreePort([])
    this.#start(this.#packages.bin('mcp-server-everything'), ['streamableHttp'], { PORT: String(port) })
    return this.#ready(`http://127.0.0.1:${port}/mcp`)
  }

  /** A server of the MCP project that speaks over its standard streams, behind supergateway. */
  async overStdio(name: string, ...given: string[]): Promise<ForeignServer> {
    const port = await findFreePort([])
    const command = [this.#packages.bin(name), ...given].map((part) => JSON.stringify(part)).join(' ')
    const options = ['--outputTransport', 'streamableHttp', '--stateful', '--port', String(port)]
    this.#start(this.#packages.bin('supergateway'), ['--stdio', command, ...options], {
      MEMORY_FILE_PATH: join(this.#directory, 'memory.jsonl'),
    })
    return this.#ready(`http://127.0.0.1:${port}/mcp`)
  }

  /** Prism, as the Petstore says it is; `spec` is the Petstore's own, at that address. */
  async petstore(): Promise<ForeignServer & { spec: string }> {
    const port = await findFreePort([])
    const url = `http://127.0.0.1:${port}`
    this.#start(this.#packages.bin('prism'), ['mock', '--port', String(port), PETSTORE.pathname])
    const text = await readFile(PETSTORE, 'utf8')
    const spec = text.replace(/^servers:\n(?:[ -].*\n)+/m, `servers:\n  - url: ${url}\n`)
    return { ...(await this.#ready(url)), spec }
  }

  /** A mock of OpenAI's API, whose MCP server asks for consent. */
  async mockLlm(): Promise<ForeignServer> {
    const port = await findFreePort([])
    const url = `http://127.0.0.1:${port}`
    const config = join(this.#directory, 'mock-llm.yaml')
    await writeFile(config, `oauth:\n  protectedPaths: [/mcp]\n  metadata:\n    issuerOverride: ${url}/\n`)
    this.#start(this.#packages.bin('mock-llm'), ['--config', config], {
      PORT: String(port),
      HOST: '127.0.0.1',
    })
    return this.#ready(url)
  }

  /** llama.cpp's own server with a small model. */
  async llama({ python, model }: { python: string; model: string }): Promise<ForeignServer> {
    const port = await findFreePort([])
    this.#start(python, [LLAMA, model, String(port)])
    const url = `http://127.0.0.1:${port}`
    await this.#ready(`${url}/v1/models`)
    return { url }
  }

  async stop(): Promise<void> {
    for (const child of this.#children) if (child.pid !== undefined) kill(child.pid)
    await Promise.all(
      this.#children.map(async (child) => {
        if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
      }),
    )
  }

  #start(command: string, given: string[], environment: Record<string, string> = {}): void {
    const env = { ...process.env, ...environment }
    // A group of its own, since some of them start others.
    const child = spawn(command, given, { env, stdio: 'ignore', detached: true, cwd: this.#directory })
    this.#children.push(child)
  }

  async #ready(url: string): Promise<ForeignServer> {
    const answers = () =>
      fetch(url).then(
        ({ status }) => status !== 503,
        () => false,
      )
    if (!(await waitUntil(answers, { timeoutMs: READY_MS, intervalMs: 500 })))
      throw new Error(`Nothing answers at ${url}`)
    return { url }
  }
}

function kill(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended by itself.
  }
}
