import type { RequestListener, ServerOptions } from 'node:http'
import { createServer, type Server } from 'node:https'
import { type BaseConfig, wrongConfig } from './config.ts'
import type { Log } from './log.ts'
import { followFiles, MIN_VERSION, readAtStart, readCertificate } from './tls-files.ts'

const HANDSHAKE_MS = 10_000

/** Serves over TLS with a certificate that may change. */
export interface ServerTls {
  /** New connections get the certificate as it is at the time. */
  createServer(options: ServerOptions, listener: RequestListener): Server
  close(): Promise<void>
}

/**
 * Reads the certificate that a process serves with, and follows its files; undefined where none is set. Rejects with
 * a {@link ConfigError} where the settings or their files are wrong.
 */
export async function openServerTls(
  { TLS_CERT_FILE: cert, TLS_KEY_FILE: key }: Pick<BaseConfig, 'TLS_CERT_FILE' | 'TLS_KEY_FILE'>,
  { log, pauseMs }: { log: Log; pauseMs?: number },
): Promise<ServerTls | undefined> {
  if (cert === undefined && key === undefined) return undefined
  if (cert === undefined || key === undefined)
    throw wrongConfig('TLS_CERT_FILE and TLS_KEY_FILE: set both, or neither')
  const read = async () => ({ ...(await readCertificate({ cert, key })), minVersion: MIN_VERSION }) as const
  let current = await readAtStart(read)
  const servers: Server[] = []
  const use = (changed: typeof current) => {
    for (const server of servers) server.setSecureContext(changed)
    current = changed
  }
  const following = followFiles({ first: current, read, use, log, pauseMs })
  return {
    createServer(options, listener) {
      const server = createServer({ ...options, ...current, handshakeTimeout: HANDSHAKE_MS }, listener)
      servers.push(server)
      return server
    },
    close: following.stop,
  }
}
