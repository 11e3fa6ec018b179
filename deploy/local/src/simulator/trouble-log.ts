import { LRUCache } from 'lru-cache'

const MAX_NUMBERS = 10_000

/** What became of the sends that were not simply answered. */
export interface Troubles {
  /** How many sends were refused, by Meta's code. */
  refused: Record<string, number>
  /** How many were accepted without a response. */
  dropped: number
}

export interface TroubleLog {
  refused(phoneNumberId: string, code: number): void
  dropped(phoneNumberId: string): void
  /** Of one phone number where one is given, else of all. */
  troubles(phoneNumberId?: string): Troubles
}

/** Counts what was refused or dropped since the simulator started. */
export function createTroubleLog(): TroubleLog {
  const none = (): Troubles => ({ refused: {}, dropped: 0 })
  const numbers = new LRUCache<string, Troubles>({ max: MAX_NUMBERS })
  const all = none()
  const both = (phoneNumberId: string): Troubles[] => {
    const own = numbers.get(phoneNumberId) ?? none()
    numbers.set(phoneNumberId, own)
    return [own, all]
  }
  return {
    refused(phoneNumberId, code) {
      for (const { refused } of both(phoneNumberId)) refused[code] = (refused[code] ?? 0) + 1
    },
    dropped(phoneNumberId) {
      for (const troubles of both(phoneNumberId)) troubles.dropped++
    },
    troubles: (phoneNumberId) => (phoneNumberId === undefined ? all : (numbers.get(phoneNumberId) ?? none())),
  }
}
