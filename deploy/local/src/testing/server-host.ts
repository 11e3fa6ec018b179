import { readFile } from 'node:fs/promises'
import { createServer, type Server as HttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { Server } from '../servers/server.ts'
import type { PreparedServers, Servers } from '../servers/start-servers.ts'
import { restartOnExit } from '../system/node-process.ts'

/** Of the log of a server that ended, in characters. */
const SHOWN = 4_000
const LOOK_MS = 1_000
const SILENCE_MS = 15_000

/**
 * Starts the tests' servers when a worker first asks for their URLs; every later question gets the same ones. One that
 * ends by itself or responds no more for 15 s, as MongoDB under Wine may, is started again on its data.
 */
export class ServerHost {
  readonly #prepared: PreparedServers
  readonly #say: (line: string) => void
  readonly #http: HttpServer
  readonly #closing = new AbortController()
  #started: Promise<Servers> | undefined
  readonly #silenceMs: number
  readonly #down = new Set<Server>()
  readonly #looking = new Map<Server, Promise<void>>()
  #lastEndAt = Number.NEGATIVE_INFINITY

  constructor(prepared: PreparedServers, say: (line: string) => void, { silenceMs = SILENCE_MS } = {}) {
    this.#prepared = prepared
    this.#say = say
    this.#silenceMs = silenceMs
    this.#http = createServer(async (_request, response) => {
      const [status, body] = await this.#response()
      response.writeHead(status, { 'content-type': 'application/json', connection: 'close' })
      response.end(JSON.stringify(body))
    })
  }

  /** Resolves with the address that workers ask. */
  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#http.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}`
  }

  /** True when a server was down for a while since `at` (of `performance.now()`), for no reason that a test gave. */
  hasLostServerSince(at: number): boolean {
    return this.#lastEndAt >= at || this.#down.size > 0
  }

  async close(): Promise<void> {
    this.#closing.abort()
    this.#http.close()
    const servers = await this.#started?.catch(() => undefined)
    // A question to a server that is stopped would wait for its reply.
    await Promise.all(this.#looking.values())
    await servers?.stop()
  }

  async #response(): Promise<[status: number, body: unknown]> {
    try {
      this.#started ??= this.#start()
      const { mongo, redis, rabbitmq } = await this.#started
      return [200, { mongoUrl: mongo.url, redisUrl: redis.url, amqpUrl: rabbitmq.url }]
    } catch (error) {
      return [500, { detail: error instanceof Error ? error.message : String(error) }]
    }
  }

  async #start(): Promise<Servers> {
    const servers = await this.#prepared.start()
    for (const server of [servers.mongo, servers.rabbitmq, servers.redis]) {
      void this.#superviseServer(server)
      this.#looking.set(server, this.#killSilent(server))
    }
    return servers
  }

  /** Kills the present run when it is not ready for `silenceMs`; it is then started again as one that ended. */
  async #killSilent(server: Server): Promise<void> {
    const { exited, pid } = server
    let ended = false
    void exited.then(() => (ended = true))
    let respondedAt = performance.now()
    const { signal } = this.#closing
    while (!ended && !signal.aborted) {
      await pause(LOOK_MS, undefined, { ref: false, signal }).catch(() => undefined)
      if (signal.aborted) return
      if (await server.isReady().catch(() => false)) {
        respondedAt = performance.now()
        if (this.#down.delete(server)) this.#lastEndAt = respondedAt
      } else if (!ended && pid !== undefined && performance.now() - respondedAt > this.#silenceMs) {
        this.#say(`${server.name} has not responded for ${this.#silenceMs / 1_000} s and is killed.`)
        try {
          process.kill(pid, 'SIGKILL')
        } catch {
          // It ended by itself in the meantime.
        }
        break
      } else this.#down.add(server)
    }
  }

  #superviseServer(server: Server): Promise<void> {
    const subject = {
      name: server.name,
      get exited() {
        return server.exited
      },
      restart: async () => {
        this.#say(await endOfLog(server))
        await server.restart()
      },
    }
    const { signal } = this.#closing
    const ended = (line: string) => {
      this.#lastEndAt = performance.now()
      this.#down.add(server)
      this.#say(line)
    }
    // A file whose tests began while it was down has lost it too.
    const onRestart = () => {
      this.#lastEndAt = performance.now()
      this.#down.delete(server)
      this.#looking.set(server, this.#killSilent(server))
    }
    return restartOnExit(subject, { say: ended, onRestart, signal })
  }
}

async function endOfLog({ name, logFile }: Server): Promise<string> {
  const log = logFile === undefined ? '' : await readFile(logFile, 'utf8').catch(() => '')
  return `The log of ${name} ends with:\n${log.slice(-SHOWN)}`
}
