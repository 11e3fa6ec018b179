/** A MongoDB, RabbitMQ or Redis that can be used. */
export interface Server {
  readonly name: string
  readonly url: string
  /** Where it was found, for people. */
  readonly source: string
  /** Of the present run; undefined when it is not a process of ours. */
  readonly pid: number | undefined
  /** Settles when the present run ends, whatever ends it; never for one that is not ours. */
  readonly exited: Promise<void>
  /** Starts it again on its data and its port, stopping it first if it still runs. */
  restart(): Promise<void>
  /** Stops it cleanly, at most 20 s, and leaves nothing of it running. */
  stop(): Promise<void>
}

/** One way to get a server, decided on but not yet carried out. */
export interface ServerPlan {
  /** The packages of the machine's package manager that must be there first. */
  packages: string[]
  /** What may take minutes and is done once on a machine: downloads. */
  prepare(): Promise<void>
  start(): Promise<Server>
}

/** What every plan is made from. */
export interface ServerContext {
  /** State of all servers. */
  directory: string
  ports: Record<string, number>
  say(line: string): void
  signal: AbortSignal
}
