import { Fifo } from '../../round-robin/ready-threads.ts'
import type { RateDecision, RateKeys } from './local-rate.ts'

/** So many ask at the same time where answers are quick, and where they take a second. */
const ASK_AT_ONCE = { least: 8, most: 100 }
/** No answer says to wait for longer; one that does came of a clock that was set since. */
const MAX_PAUSE_MS = 1_000

/** The slot that was found for a send. */
export type FoundSlot =
  /** A slot at this time (milliseconds since the epoch), which is reserved for it. */
  | { kind: 'reserved'; at: number }
  /** None before this time, when its person's rate has room; ask again then. */
  | { kind: 'later'; at: number }

/** Asks for a slot. */
export interface SlotRequest {
  /** Aborted once nobody needs the slot any more. */
  ended: AbortSignal
  /** It is for one of a campaign's messages, which those of conversations go before. */
  isBulk?: boolean
}

interface Waiting extends SlotRequest {
  keys: RateKeys
  found(slot: FoundSlot): void
}

interface NumberQueue {
  waiting: Fifo<Waiting>
  /** Those to many people: behind all others, whenever these came. */
  bulk: Fifo<Waiting>
  /** When the number may have a slot again (milliseconds since the epoch). */
  notBefore: number
}

/**
 * The sends of one instance that wait for their number's rate: first come, first served, and those of campaigns after
 * those of conversations. Only the first of each number
 * ask for a slot, and none before there may be one, so that those behind them cost nothing however many they are: as many
 * as there are threads in memory, each of which waits with one send.
 */
export class WaitingSends {
  readonly #ask: (keys: RateKeys) => Promise<RateDecision>
  readonly #intervalOf: (keys: RateKeys) => number
  readonly #numbers = new Map<string, NumberQueue>()

  /** `ask` never rejects; `intervalOf` is how often a number has a slot, in milliseconds. */
  constructor(options: { ask(keys: RateKeys): Promise<RateDecision>; intervalOf(keys: RateKeys): number }) {
    this.#ask = options.ask
    this.#intervalOf = options.intervalOf
  }

  /** True if sends wait for this number. */
  has(number: string): boolean {
    return this.#numbers.has(number)
  }

  /** Puts a send behind the others of its number. */
  add(keys: RateKeys, { notBefore, ...request }: SlotRequest & { notBefore: number }): Promise<FoundSlot> {
    return new Promise((found) => {
      const known = this.#numbers.get(keys.number)
      const queue = known ?? { waiting: new Fifo<Waiting>(), bulk: new Fifo<Waiting>(), notBefore }
      const fifo = request.isBulk === true ? queue.bulk : queue.waiting
      fifo.push({ ...request, keys, found })
      if (known !== undefined) return
      this.#numbers.set(keys.number, queue)
      void this.#serve(keys.number, queue)
    })
  }

  async #serve(number: string, queue: NumberQueue): Promise<void> {
    let tookMs = 0
    for (let first: Waiting[] = []; ; ) {
      const pauseMs = Math.min(queue.notBefore - Date.now(), MAX_PAUSE_MS)
      if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs))
      const next = first[0] ?? queue.waiting.first ?? queue.bulk.first
      const atOnce = next === undefined ? 0 : this.#askAtOnce(tookMs, this.#intervalOf(next.keys))
      first = firstOf(atOnce, first, queue)
      if (first.length === 0) return void this.#numbers.delete(number)
      const began = performance.now()
      const decisions = await Promise.all(first.slice(0, atOnce).map(({ keys }) => this.#ask(keys)))
      tookMs = performance.now() - began
      first = first.filter(({ found }, index) => {
        const decision = decisions[index]
        if (decision === undefined) return true
        const { kind, at } = decision
        if (kind === 'number_busy') queue.notBefore = at
        else found({ kind: kind === 'reserved' ? kind : 'later', at })
        return kind === 'number_busy'
      })
    }
  }

  /** Twice as many as there are slots while an answer is waited for: a slow Redis must not lower the rate. */
  #askAtOnce(tookMs: number, intervalMs: number): number {
    const { least, most } = ASK_AT_ONCE
    return Math.min(Math.max(least, Math.ceil((2 * tookMs) / intervalMs)), most)
  }
}

/**
 * Those that are to ask next, `count` at least where there are so many: those that found no slot, then others in the order
 * in which they came; and of either those of conversations first.
 */
function firstOf(
  count: number,
  deferred: Waiting[],
  { waiting, bulk }: Pick<NumberQueue, 'waiting' | 'bulk'>,
): Waiting[] {
  const [own, late]: [Waiting[], Waiting[]] = [[], []]
  const take = (one: Waiting) => {
    if (one.ended.aborted) one.found({ kind: 'later', at: Date.now() })
    else if (one.isBulk === true) late.push(one)
    else own.push(one)
  }
  deferred.forEach(take)
  const fill = (fifo: Fifo<Waiting>, isFull: () => boolean) => {
    for (let next = fifo.first; next !== undefined && !isFull(); next = fifo.first) {
      fifo.take()
      take(next)
    }
  }
  fill(waiting, () => own.length >= count)
  fill(bulk, () => own.length + late.length >= count)
  return [...own, ...late]
}
