import { createServer, type Server as HttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { PreparedServers, Servers } from '../servers/start-servers.ts'

/** Starts the tests' servers when a worker first asks for their URLs; every later question gets the same ones. */
export class ServerHost {
  readonly #prepared: PreparedServers
  readonly #http: HttpServer
  #started: Promise<Servers> | undefined

  constructor(prepared: PreparedServers) {
    this.#prepared = prepared
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

  async close(): Promise<void> {
    this.#http.close()
    const servers = await this.#started?.catch(() => undefined)
    await servers?.stop()
  }

  async #response(): Promise<[status: number, body: unknown]> {
    try {
      this.#started ??= this.#prepared.start()
      const { mongo, redis, rabbitmq } = await this.#started
      return [200, { mongoUrl: mongo.url, redisUrl: redis.url, amqpUrl: rabbitmq.url }]
    } catch (error) {
      return [500, { detail: error instanceof Error ? error.message : String(error) }]
    }
  }
}
