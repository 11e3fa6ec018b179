import { createSecureContext } from 'node:tls'
import { Agent, buildConnector, type Dispatcher, fetch, type RequestInit, type Response } from 'undici'
import type { Log } from './log.ts'
import { followFiles, MIN_VERSION, readAtStart, readCertificates } from './tls-files.ts'

const CONNECT_MS = 3_000

/** Where an instance of a service listens; a URL is one. */
export interface Target {
  /** `http(s)://host:port`. */
  readonly origin: string
  /** Host and port. */
  readonly host: string
  /** The name that its certificate is for, where `host` has one of the addresses behind that name. */
  readonly servername?: string
}

/** Reaches the other services. */
export interface ServiceCalls {
  /** As `fetch`, for a path of an instance. */
  call(target: Target, path: string, init?: RequestInit): Promise<Response>
  /** Opens a connection within 3 s, for another client of undici; over TLS to nobody whose certificate does not fit. */
  connect: buildConnector.connector
  close(): Promise<void>
}

/**
 * Calls services over HTTP or TLS. Over TLS only certificates of the CAs in `caFile` are trusted, which is read again
 * when it changes; without one those that Node trusts. Rejects where the file has none.
 */
export async function createServiceCalls(options: {
  caFile: string | undefined
  log: Log
  pauseMs?: number
}): Promise<ServiceCalls> {
  const { caFile, log, pauseMs } = options
  const trusted = caFile === undefined ? undefined : await trust(caFile, { log, pauseMs })
  const connect = trusted?.connect ?? connectorTo({})
  const agent = new Agent({ allowH2: false, connect })
  return {
    call: (target, path, init = {}) =>
      fetch(new URL(path, target.origin), { ...init, dispatcher: expecting(agent, target) }),
    connect,
    close: async () => {
      await Promise.all([trusted?.stop(), agent.destroy()])
    },
  }
}

/** Has a request's connection verified by the name of its target, as an option of `dispatch` does that `fetch` lacks. */
function expecting(agent: Agent, { servername }: Target): Dispatcher {
  if (servername === undefined) return agent
  return agent.compose(
    (dispatch) => (options, handler) => dispatch({ ...options, ...{ servername } }, handler),
  )
}

/** Connects to those whose certificate is of one of the CAs in the file, as it is now. */
async function trust(file: string, { log, pauseMs }: { log: Log; pauseMs: number | undefined }) {
  const read = () => readCertificates('TLS_CA_FILE', file)
  const first = await readAtStart(read)
  const connectorFor = (ca: string[]) =>
    connectorTo({ secureContext: createSecureContext({ ca, minVersion: MIN_VERSION }) })
  let current = connectorFor(first)
  const use = (ca: string[]) => {
    current = connectorFor(ca)
  }
  const { stop } = followFiles({ first, read, use, log, pauseMs })
  const connect: buildConnector.connector = (options, callback) => current(options, callback)
  return { connect, stop }
}

function connectorTo(tls: buildConnector.BuildOptions): buildConnector.connector {
  return buildConnector({ timeout: CONNECT_MS, allowH2: false, rejectUnauthorized: true, ...tls })
}
