import type { Reading } from '../inbound.ts'
import { textAt } from '../own.ts'

/** The contacts named with the messages of one change. */
export interface Contacts {
  /** The contact that a message is from; one that stands alone is. */
  senderOf(raw: unknown): unknown
}

/**
 * Contacts without those that can't be stored. They are looked through once, at the first question: a body has room for
 * thousands of messages and a hundred thousand contacts.
 */
export function contactsIn(found: unknown[], { isStorable }: Pick<Reading, 'isStorable'>): Contacts {
  let indexed: { all: unknown[]; positions: Map<string, number> } | undefined
  return {
    senderOf(raw) {
      indexed ??= indexOf(found.filter(isStorable))
      const { all, positions } = indexed
      const ids = idsOf(raw)
      const named = ids.flatMap((id) => positions.get(id) ?? [])
      if (named.length > 0) return all[Math.min(...named)]
      return all.length === 1 && ids.length === 0 ? all[0] : undefined
    },
  }
}

/** Where a message, status or contact has a person's phone number, or an id in its place. */
export const NUMBERS = ['from', 'wa_id', 'recipient_id'] as const
/** Where it has their ids. */
export const IDS = [
  ...['user_id', 'from_user_id', 'recipient_user_id'],
  ...['parent_user_id', 'from_parent_user_id'],
] as const

/** The names of a person in a message, status or contact; the phone number comes before the ids that may stand for it. */
export function idsOf(value: unknown): string[] {
  return [...NUMBERS, ...IDS].flatMap((key) => textAt(value, key) ?? [])
}

function indexOf(all: unknown[]) {
  const positions = new Map<string, number>()
  all.forEach((contact, at) => {
    for (const id of idsOf(contact)) if (!positions.has(id)) positions.set(id, at)
  })
  return { all, positions }
}
