import { mayTake } from '@parley/shared/fair-slots'

/** An item that is ready to run: its workspace and channel decide when it runs. */
interface Claimant {
  workspace: number
  /** The channel of its first message; undefined while that has to be read from the store. */
  channel: string | undefined
}

/** How many there may be: in all, of one workspace, of one channel. */
export interface Limits {
  all: number
  workspace: number
  channel: number
}

interface Counts {
  running: number
  /** In flight, and waiting for somebody's answer. */
  waiting: number
}

interface ChannelQueue<T> extends Counts {
  name: string | undefined
  /** Those that run before the others of the channel. */
  urgent: Fifo<T>
  ready: Fifo<T>
  isQueued: boolean
}

interface WorkspaceQueue<T> extends Counts {
  id: number
  /** Channels that have something ready and room to run it, in the order in which they run. */
  readyChannels: Fifo<ChannelQueue<T>>
  channels: Map<string | undefined, ChannelQueue<T>>
  isQueued: boolean
}

const SPARE = 2

/** A place among what runs. */
export interface RunSlot {
  /** Gives the place to others while an answer is waited for; false when too many wait already. */
  leave(): boolean
  /** Takes it again, also beyond the limits: the work has begun, and nothing new starts meanwhile. */
  enter(): void
  /** Gives it up. */
  end(): void
}

/**
 * Ready threads, started by round robin over workspaces and, within one, over its channels: whoever has 50,000 ready
 * delays another workspace's by one of its own. A workspace or channel at its limit is passed over. Each operation costs
 * the same at any number of threads.
 */
export class ReadyThreads<T extends Claimant> {
  readonly #limits: Record<keyof Counts, Limits>
  readonly #readyWorkspaces = new Fifo<WorkspaceQueue<T>>()
  readonly #workspaces = new Map<number, WorkspaceQueue<T>>()
  readonly #all: Counts = { running: 0, waiting: 0 }
  readonly #use = new SharedUse()
  readonly #shared: () => number

  /** `shared`: how many one workspace may run while others are active, at least one. */
  constructor(
    limits: Record<keyof Counts, Limits>,
    { shared = () => limits.running.workspace }: { shared?(): number } = {},
  ) {
    this.#limits = limits
    this.#shared = shared
  }

  /** Those that were taken and have not ended. */
  get inFlight(): number {
    return this.#all.running + this.#all.waiting
  }

  /** `isUrgent`: it runs before what else is ready of its channel, and so delays nobody else's. */
  add(item: T, { isUrgent = false } = {}): void {
    this.#use.seen(item.workspace)
    const workspace = this.#workspaceOf(item.workspace)
    const channel = channelOf(workspace, item.channel)
    channel[isUrgent ? 'urgent' : 'ready'].push(item)
    this.#offer(workspace, channel)
  }

  /** The next one that may run, with its place; undefined when there is none, or no room. */
  take(): { item: T; slot: RunSlot } | undefined {
    while (this.#all.running < this.#limits.running.all) {
      const workspace = this.#readyWorkspaces.take()
      if (workspace === undefined) return undefined
      workspace.isQueued = false
      const next = this.#isFull(workspace) ? undefined : this.#takeFrom(workspace)
      this.#offer(workspace)
      if (next !== undefined) return next
    }
    return undefined
  }

  #takeFrom(workspace: WorkspaceQueue<T>): { item: T; slot: RunSlot } | undefined {
    for (
      let channel = workspace.readyChannels.take();
      channel !== undefined;
      channel = workspace.readyChannels.take()
    ) {
      channel.isQueued = false
      if (this.#isChannelFull(channel)) continue
      const item = channel.urgent.take() ?? channel.ready.take()
      if (item === undefined) continue
      const slot = this.#slotOf(workspace, channel)
      this.#offer(workspace, channel)
      return { item, slot }
    }
    return undefined
  }

  #slotOf(workspace: WorkspaceQueue<T>, channel: ChannelQueue<T>): RunSlot {
    const groups = [this.#all, workspace, channel]
    let counted: keyof Counts = 'running'
    const move = (to: keyof Counts | undefined) => {
      for (const group of groups) {
        group[counted]--
        if (to !== undefined) group[to]++
      }
      counted = to ?? counted
    }
    for (const group of groups) group.running++
    return {
      leave: () => {
        if (counted === 'waiting' || !this.#mayWait(workspace, channel)) return counted === 'waiting'
        move('waiting')
        this.#offer(workspace, channel)
        return true
      },
      enter: () => {
        if (counted === 'waiting') move('running')
      },
      end: () => {
        move(undefined)
        this.#offer(workspace, channel)
        this.#forget(workspace, channel)
      },
    }
  }

  /** Whoever waits leaves room for other workspaces' that will, however long their answers take. */
  #mayWait(workspace: Counts, channel: Counts): boolean {
    const { waiting } = this.#limits
    return (
      mayTake({ own: workspace.waiting, all: this.#all.waiting }, { total: waiting.all, spare: SPARE }) &&
      workspace.waiting < waiting.workspace &&
      channel.waiting < waiting.channel
    )
  }

  /** Puts those at the end of their lines that have something ready and room to run it. */
  #offer(workspace: WorkspaceQueue<T>, channel?: ChannelQueue<T>): void {
    if (channel !== undefined && !channel.isQueued && readyIn(channel) > 0 && !this.#isChannelFull(channel)) {
      channel.isQueued = true
      workspace.readyChannels.push(channel)
    }
    if (workspace.isQueued || workspace.readyChannels.size === 0 || this.#isFull(workspace)) return
    workspace.isQueued = true
    this.#readyWorkspaces.push(workspace)
  }

  #isFull({ running }: WorkspaceQueue<T>): boolean {
    const { workspace } = this.#limits.running
    return running >= (this.#use.isShared() ? Math.min(this.#shared(), workspace) : workspace)
  }

  /** True if the channel is full. An item that is yet to be read from the store counts for its workspace alone. */
  #isChannelFull({ name, running }: ChannelQueue<T>): boolean {
    return name !== undefined && running >= this.#limits.running.channel
  }

  #workspaceOf(id: number): WorkspaceQueue<T> {
    const known = this.#workspaces.get(id)
    if (known !== undefined) return known
    const made: WorkspaceQueue<T> = {
      id,
      running: 0,
      waiting: 0,
      isQueued: false,
      readyChannels: new Fifo(),
      channels: new Map(),
    }
    this.#workspaces.set(id, made)
    return made
  }

  #forget(workspace: WorkspaceQueue<T>, channel: ChannelQueue<T>): void {
    if (channel.running + channel.waiting + readyIn(channel) === 0) workspace.channels.delete(channel.name)
    if (workspace.channels.size === 0) this.#workspaces.delete(workspace.id)
  }
}

function channelOf<T>(workspace: WorkspaceQueue<T>, name: string | undefined): ChannelQueue<T> {
  const known = workspace.channels.get(name)
  if (known !== undefined) return known
  const made: ChannelQueue<T> = {
    name,
    running: 0,
    waiting: 0,
    urgent: new Fifo(),
    ready: new Fifo(),
    isQueued: false,
  }
  workspace.channels.set(name, made)
  return made
}

function readyIn<T>({ urgent, ready }: ChannelQueue<T>): number {
  return urgent.size + ready.size
}

/** How long a workspace counts as active after something of it. */
export const ACTIVE_MS = 5 * 60_000

/** Decides if more than one workspace was active lately; the share of each is bounded more closely then. */
export class SharedUse {
  readonly #now: () => number
  #last: number | undefined
  /** When two things in a row were of two workspaces. */
  #changedAt = Number.NEGATIVE_INFINITY

  /** `now` is monotonic, in milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  seen(workspace: number): void {
    if (this.#last !== undefined && this.#last !== workspace) this.#changedAt = this.#now()
    this.#last = workspace
  }

  isShared(): boolean {
    return this.#now() - this.#changedAt < ACTIVE_MS
  }
}

const COMPACT_FROM = 1_024

/** A first-in-first-out queue whose `take` costs the same at any length (`Array.shift` does not). */
export class Fifo<T> {
  #items: T[] = []
  #taken = 0

  get size(): number {
    return this.#items.length - this.#taken
  }

  /** The one that `take` returns next. */
  get first(): T | undefined {
    return this.#items[this.#taken]
  }

  push(item: T): void {
    this.#items.push(item)
  }

  take(): T | undefined {
    if (this.#taken === this.#items.length) {
      this.#items = []
      this.#taken = 0
      return undefined
    }
    const item = this.#items[this.#taken++]
    if (this.#taken >= COMPACT_FROM && this.#taken * 2 >= this.#items.length) {
      this.#items = this.#items.slice(this.#taken)
      this.#taken = 0
    }
    return item
  }
}
