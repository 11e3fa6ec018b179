import { LRUCache } from 'lru-cache'
import type { Metrics } from '../../metrics/metrics.ts'
import type { RateKeys } from './local-rate.ts'
import type { SendRateLimit, SendSlot } from './send-rate-limit.ts'
import type { FoundSlot, SlotRequest } from './waiting-sends.ts'

const MAX_SLOTS = 20_000
/** No slot is given out for so far ahead; such a one is by a clock that was set back since. */
const MAX_AHEAD_MS = 60_000

/** Of sends that have not left yet, by the send's id. */
export interface SendSlots {
  /** The slot that is reserved for it, which may have gone by. */
  reserved: LRUCache<string, number>
  /** When it first asked for one. */
  asked: LRUCache<string, number>
  /** Those that wait behind others, until there is something new for them: one of each thread in memory. */
  queued: Map<string, Promise<void>>
}

/** The reason that a send waits before it is claimed. */
type RateWait =
  /** A time, in milliseconds since the epoch. */
  | { kind: 'until'; at: number; for: 'rate' | 'person_rate' }
  /** Its turn among those that wait for the same number; the promise never rejects. */
  | { kind: 'queued'; settled: Promise<void>; for: 'rate' }

export const createSendSlots = (): SendSlots => ({
  reserved: new LRUCache({ max: MAX_SLOTS }),
  asked: new LRUCache({ max: MAX_SLOTS }),
  queued: new Map(),
})

/** Limits the sends of one message to the rate of where they go. */
export class SendRate {
  readonly #sendRateLimit: SendRateLimit
  readonly #slots: SendSlots
  readonly #metrics: Pick<Metrics, 'waited'>
  readonly #now: () => number
  /** When the send that is being made may leave. */
  #slotAt = Number.POSITIVE_INFINITY

  constructor(options: {
    sendRateLimit: SendRateLimit
    slots: SendSlots
    metrics: Pick<Metrics, 'waited'>
    now: () => number
  }) {
    this.#sendRateLimit = options.sendRateLimit
    this.#slots = options.slots
    this.#metrics = options.metrics
    this.#now = options.now
  }

  /** Returns the next wait before a send is claimed, which ends once `ended` is aborted; undefined for none. */
  async nextWait(
    sendId: string,
    { keys, ...request }: SlotRequest & { keys: RateKeys },
  ): Promise<RateWait | undefined> {
    const now = this.#now
    const { asked, queued } = this.#slots
    if (!asked.has(sendId)) asked.set(sendId, now())
    const already = queued.get(sendId)
    if (already !== undefined) return { kind: 'queued', settled: already, for: 'rate' }
    const slot = await this.#slotOf(sendId, { keys, ...request })
    if (slot.kind === 'queued') {
      const settled = this.#whenFound(sendId, slot.found)
      queued.set(sendId, settled)
      return { kind: 'queued', settled, for: 'rate' }
    }
    this.#slotAt = slot.at
    const at = actAt(slot)
    if (slot.kind === 'later') return { kind: 'until', at, for: 'person_rate' }
    return at <= now() ? undefined : { kind: 'until', at, for: 'rate' }
  }

  /** Waits for the slot of a send that is claimed, or for another where claiming took too long; then it leaves. */
  async atSlot(sendId: string, { keys, mayLeave }: { keys: RateKeys; mayLeave(): boolean }): Promise<void> {
    await awaitSlot({ at: this.#slotAt, keys, sendRateLimit: this.#sendRateLimit, now: this.#now, mayLeave })
    this.#slots.reserved.delete(sendId)
    const since = this.#slots.asked.get(sendId) ?? this.#now()
    this.#slots.asked.delete(sendId)
    this.#metrics.waited((this.#now() - since) / 1_000)
  }

  /** Reserves what is found, and resolves when there is something to be done with it. */
  async #whenFound(sendId: string, found: Promise<FoundSlot>): Promise<void> {
    const slot = await found
    if (slot.kind === 'reserved') this.#slots.reserved.set(sendId, slot.at)
    await pause(actAt(slot) - this.#now())
    this.#slots.queued.delete(sendId)
  }

  /** The one that is reserved for it; another where that has gone by. */
  async #slotOf(sendId: string, { keys, ...request }: SlotRequest & { keys: RateKeys }): Promise<SendSlot> {
    const reserved = this.#slots.reserved.get(sendId)
    if (reserved !== undefined && !isMissed(reserved, this.#now())) return { kind: 'reserved', at: reserved }
    const slot =
      reserved === undefined
        ? await this.#sendRateLimit.slot(keys, request)
        : await this.#sendRateLimit.anotherSlot(keys, reserved)
    if (slot.kind === 'reserved') this.#slots.reserved.set(sendId, slot.at)
    return slot
  }
}

/** A slot that is used later than this would make up for lost time, and so break the rate. */
const SLOT_LATE_MS = 25
/** A send is claimed this long before its slot, or a database that takes its time would make it late. */
const CLAIM_AHEAD_MS = 250

/** When a send with this slot is claimed, or asks again. */
const actAt = ({ kind, at }: FoundSlot): number => (kind === 'reserved' ? at - CLAIM_AHEAD_MS : at)

/** Waits for the slot of a claimed send; where claiming took so long that it has gone by, for another one. */
export async function awaitSlot(options: {
  /** Milliseconds since the epoch. */
  at: number
  keys: RateKeys
  sendRateLimit: Pick<SendRateLimit, 'anotherSlot'>
  now(): number
  mayLeave(): boolean
}): Promise<void> {
  const { keys, sendRateLimit, now, mayLeave } = options
  let { at } = options
  await pause(at - now())
  while (isMissed(at, now()) && mayLeave()) {
    at = (await sendRateLimit.anotherSlot(keys, at)).at
    await pause(at - now())
  }
}

/** True if a slot has gone by, or was given by a clock that was set back since. */
const isMissed = (at: number, now: number): boolean => now - at > SLOT_LATE_MS || at - now > MAX_AHEAD_MS

async function pause(milliseconds: number): Promise<void> {
  if (milliseconds <= 0 || milliseconds > MAX_AHEAD_MS) return
  await new Promise((resolve) => setTimeout(resolve, milliseconds))
}
