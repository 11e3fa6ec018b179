import { SetupError } from '../setup-error.ts'

/** A MongoDB, RabbitMQ or Redis that can be used. */
export interface Server {
  readonly name: string
  readonly url: string
  /** Where it was found, for people. */
  readonly source: string
  /** Of the present run; undefined when it is not a process of ours. */
  readonly pid: number | undefined
  /** The log of the present run; undefined when it is not a process of ours. */
  readonly logFile?: string
  /** Settles when the present run ends, whatever ends it; never for one that is not ours. */
  readonly exited: Promise<void>
  /** True when it responds as one that can be used. */
  isReady(): Promise<boolean>
  /** Starts it again on its data and its port, stopping it first if it still runs. */
  restart(): Promise<void>
  /** Stops it cleanly, at most 20 s, and leaves nothing of it running. */
  stop(): Promise<void>
}

/** One way to get a server, decided on but not yet carried out. */
export interface ServerPlan {
  /** The packages of the machine's package manager that must be there first. */
  packages: string[]
  /** Downloads what needs none of the packages, once on a machine; it may take minutes. */
  download?(): Promise<void>
  /** Does once on a machine what takes the packages and what was downloaded. */
  prepare(): Promise<void>
  start(): Promise<Server>
}

/** The context that every plan is made from. */
export interface ServerContext {
  /** State of all servers. */
  directory: string
  ports: Record<string, number>
  say(line: string): void
  signal: AbortSignal
}

/** A server named by its URL in the environment. It is somebody else's: checked, never started or stopped. */
export function planExternalServer(options: {
  name: string
  variable: string
  url: string
  /** Throws what is wrong with it. */
  check(url: string): Promise<void>
}): ServerPlan {
  const { name, variable, url, check } = options
  return {
    packages: [],
    prepare: async () => undefined,
    start: async () => {
      await check(url).catch((error: unknown) => {
        const reason = error instanceof Error ? error.message : String(error)
        throw new SetupError(
          `${variable} names no ${name} that can be used (${reason}). Start that server, correct ${variable}, ` +
            'or unset it to have one started.',
        )
      })
      return externalServer({ name, source: variable, url })
    },
  }
}

/** One that somebody else starts and stops. */
export function externalServer({ name, source, url }: Pick<Server, 'name' | 'source' | 'url'>): Server {
  return {
    name,
    url,
    source,
    pid: undefined,
    exited: new Promise(() => undefined),
    isReady: async () => true,
    restart: async () => {
      throw new Error(`${name} comes from ${source} and is not ours to restart`)
    },
    stop: async () => undefined,
  }
}
