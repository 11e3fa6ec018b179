import { Problem } from './problem.ts'
import {
  crowdedFor,
  type Excess,
  forget,
  Group,
  leave,
  pathOf,
  type Queued,
  type Slot,
} from './slot-group.ts'

/** The one who asks for a slot, from the widest group to the narrowest: workspace, account, token. Of one length everywhere. */
export type SlotKey = readonly (string | number)[]

export interface SlotLimits {
  /** The purpose of the slots, in the plural, as callers read it. */
  of: string
  total: number
  /** The most of one group, by level of the key; beyond its end there is no bound. */
  each?: readonly number[]
  /**
   * A workspace may take another slot while so many times what it has are free (dynamic thresholds of Choudhury and
   * Hahne, 1998): whoever comes then finds some, however long the others keep theirs. Without it all may be taken.
   */
  spare?: number
  /** Which of its slots a group gives up first, where slots can be given up; the oldest unless said. */
  preempts?: 'oldest' | 'newest'
  /** After so many milliseconds a slot is given up for a group with one fewer, too; never where left out. */
  protectedMs?: number
  /** How many wait, in all and of one workspace, and for how many milliseconds; nobody does where left out. */
  queue?: { total: number; each: number; ms: number }
}

export type Release = () => void

interface Waiter {
  go(release: Release): void
  refuse(excess: Excess): void
  preempt?: (() => void) | undefined
}

/** True when a group that has `own` of `all` taken slots may take another. */
export function mayTake(
  { own, all }: { own: number; all: number },
  { total, spare = 0 }: Pick<SlotLimits, 'total' | 'spare'>,
): boolean {
  return all < total && own * spare < total - all
}

/**
 * Slots that workspaces share, and within one its accounts. A group may have more than its share while nobody else asks.
 * Where there is none left, a slot that can be given up goes from the group that has most to one that has at least two
 * fewer; else the next free one goes to the group that has fewest of those that wait, in turns where they have as many.
 */
export class FairSlots {
  readonly #limits: SlotLimits
  readonly #root = new Group()
  #turns = 0
  #isServing = false

  constructor(limits: SlotLimits) {
    this.#limits = limits
  }

  /** How many are taken. */
  get size(): number {
    return this.#root.taken
  }

  /** How many wait. */
  get waiting(): number {
    return this.#root.waiting
  }

  /** How many the widest group of the key has. */
  taken([name = '']: SlotKey): number {
    return this.#root.groups.get(name)?.taken ?? 0
  }

  /**
   * Takes a slot, and returns what gives it back, once however often it is called; undefined where there is none.
   * A slot with `preempt` can be given up for others: it is free by the time that is called.
   */
  take(key: SlotKey, preempt?: () => void): Release | undefined {
    const group = this.#groupOf(key)
    const release = this.#takeIn(group, preempt)
    if (release === undefined) forget(group)
    return release
  }

  /** True when {@link take} would find one. */
  hasRoom(key: SlotKey): boolean {
    const group = this.#groupOf(key)
    const hasRoom = this.#hasRoom(group) || this.#preemptible(group) !== undefined
    forget(group)
    return hasRoom
  }

  /** Takes a slot, or waits for one as long as the queue allows. Rejects with `rate_limited` or `unavailable`. */
  enter(key: SlotKey, preempt?: () => void): Promise<Release> {
    return new Promise((resolve, reject) => {
      this.wait(key, { go: resolve, refuse: (excess) => reject(this.problem(excess)), preempt })
    })
  }

  /** As {@link enter}, at once where there is a slot. */
  wait(key: SlotKey, waiter: Waiter): void {
    const group = this.#groupOf(key)
    const release = this.#takeIn(group, waiter.preempt)
    if (release !== undefined) return void waiter.go(release)
    if (this.#mayWait(group)) return void this.#enqueue(group, waiter)
    const excess = this.#excessOf(group)
    forget(group)
    waiter.refuse(excess)
  }

  /** Whose slots are too many, for a key that finds none. */
  excess(key: SlotKey): Excess {
    const group = this.#groupOf(key)
    const excess = this.#excessOf(group)
    forget(group)
    return excess
  }

  problem(excess: Excess): Problem {
    const { of } = this.#limits
    return excess === 'own'
      ? new Problem('rate_limited', { detail: `Too many ${of} of yours are under way.` })
      : new Problem('unavailable', { detail: `Too many ${of} are under way.` })
  }

  #groupOf(key: SlotKey): Group {
    let group = this.#root
    for (const name of key) group = group.groups.get(name) ?? new Group(name, group)
    return group
  }

  #takeIn(group: Group, preempt: (() => void) | undefined): Release | undefined {
    if (this.#hasRoom(group)) return this.#grant(group, preempt)
    const given = this.#preemptible(group)
    if (given === undefined) return undefined
    leave(given)
    const release = this.#grant(group, preempt)
    given.preempt?.()
    return release
  }

  #grant(group: Group, preempt: (() => void) | undefined): Release {
    const turn = ++this.#turns
    for (const one of pathOf(group)) {
      one.taken++
      one.turn = turn
    }
    const slot: Slot = { group, preempt, isTaken: true, since: performance.now() }
    if (preempt !== undefined) group.slots.add(slot)
    return () => {
      if (leave(slot)) this.#serve()
    }
  }

  #hasRoom(group: Group): boolean {
    return pathOf(group).every((one) => this.#isOpen(one))
  }

  #isOpen(group: Group): boolean {
    if (group.taken >= this.#most(group)) return false
    if (group.level !== 1) return true
    return mayTake({ own: group.taken, all: this.#root.taken }, this.#limits)
  }

  #most({ level }: Group): number {
    const { total, each } = this.#limits
    return level === 0 ? total : (each?.[level - 1] ?? total)
  }

  #excessOf(group: Group): Excess {
    const path = pathOf(group).slice(0, -1)
    if (path.some((one) => one.taken >= this.#most(one))) return 'own'
    const { taken = 0, waiting = 0 } = path.at(-1) ?? {}
    const { total, queue } = this.#limits
    const hasShare = taken * this.#root.groups.size >= total || (queue && waiting >= queue.each)
    return hasShare ? 'own' : 'all'
  }

  #preemptible(group: Group): Slot | undefined {
    const { protectedMs = Number.POSITIVE_INFINITY } = this.#limits
    const before = performance.now() - protectedMs
    const crowded = crowdedFor(group, {
      by: 'taken',
      isFull: (one) => one.taken >= this.#most(one),
      isDue: ({ slots: [oldest] }) => oldest !== undefined && oldest.since <= before,
    })
    const slots = [...(crowded?.slots ?? [])]
    return this.#limits.preempts === 'newest' ? slots.at(-1) : slots[0]
  }

  /** In a full queue the group with most of those that wait gives up its last place to one that has fewer. */
  #mayWait(group: Group): boolean {
    const { queue } = this.#limits
    if (queue === undefined) return false
    const most = [queue.total, queue.each]
    const isFull = ({ level, waiting }: Group) => waiting >= (most[level] ?? Number.POSITIVE_INFINITY)
    if (!pathOf(group).some(isFull)) return true
    const crowded = crowdedFor(group, { by: 'waiting', isFull, isDue: () => false })
    const last = [...(crowded?.queue ?? [])].at(-1)
    last?.refuse('own')
    return last !== undefined
  }

  #enqueue(group: Group, { go, refuse, preempt }: Waiter): void {
    const end = () => {
      clearTimeout(timer)
      group.queue.delete(queued)
      for (const one of pathOf(group)) one.waiting--
      forget(group)
    }
    const queued: Queued = {
      go: () => {
        const release = this.#grant(group, preempt)
        end()
        go(release)
      },
      refuse: (excess) => {
        end()
        refuse(excess)
      },
    }
    const timer = setTimeout(() => queued.refuse(this.#excessOf(group)), this.#limits.queue?.ms)
    group.queue.add(queued)
    for (const one of pathOf(group)) if (one.waiting++ === 0) one.turn = ++this.#turns
  }

  #serve(): void {
    // A waiter that goes may be done at once, and must not call this again from within itself for each that waits.
    if (this.#isServing || this.#root.waiting === 0) return
    this.#isServing = true
    for (let next = this.#next(this.#root); next !== undefined; next = this.#next(this.#root)) next.go()
    this.#isServing = false
  }

  #next(group: Group): Queued | undefined {
    if (!this.#isOpen(group)) return undefined
    const [first] = group.queue
    if (first !== undefined) return first
    const waiting = [...group.groups.values()].filter((one) => one.waiting > 0)
    for (const one of waiting.toSorted((a, b) => a.taken - b.taken || a.turn - b.turn)) {
      const next = this.#next(one)
      if (next !== undefined) return next
    }
    return undefined
  }
}
