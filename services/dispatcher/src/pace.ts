import { LRUCache } from 'lru-cache'
import { awaitSlot, CLAIM_AHEAD_MS, SLOT_LATE_MS } from './governor/await-slot.ts'
import type { Governor, PaceKeys } from './governor/governor.ts'

const MAX_SLOTS = 20_000

/** Slots that are kept for sends whose thread waits, by the send's id; at most a second old. */
export const createSlots = (): LRUCache<string, number> => new LRUCache({ max: MAX_SLOTS })

/** Holds the sends of one message to the rate of where they go. */
export class Pace {
  readonly #governor: Governor
  readonly #slots: LRUCache<string, number>
  readonly #now: () => number
  /** When the send under way may leave. */
  #slotAt = Number.POSITIVE_INFINITY

  constructor(options: { governor: Governor; slots: LRUCache<string, number>; now: () => number }) {
    this.#governor = options.governor
    this.#slots = options.slots
    this.#now = options.now
  }

  /** Until when (milliseconds since the epoch) to wait before a send is claimed; undefined for no longer. */
  async waitUntil(sendId: string, keys: PaceKeys): Promise<number | undefined> {
    const now = this.#now
    const kept = this.#slots.get(sendId)
    this.#slots.delete(sendId)
    const timely = kept !== undefined && now() - kept <= SLOT_LATE_MS
    const slot = timely ? { kind: 'reserved' as const, at: kept } : await this.#governor.slot(keys)
    this.#slotAt = slot.at
    const claimAt = slot.kind === 'reserved' ? slot.at - CLAIM_AHEAD_MS : slot.at
    if (slot.kind === 'reserved' && claimAt <= now()) return undefined
    if (slot.kind === 'reserved') this.#slots.set(sendId, slot.at)
    return claimAt
  }

  /** Waits for the slot of a send that is claimed, or for another where claiming took too long. */
  atSlot(keys: PaceKeys, held: () => boolean): Promise<void> {
    return awaitSlot({ at: this.#slotAt, keys, governor: this.#governor, now: this.#now, held })
  }
}
