import type { Said } from './threads.ts'

const LOST = ['failed', 'dead']

/** A reaction that stands at what it is to. */
export interface Reaction {
  emoji: string
  /** The business as one, or the person; in a group each by their name. */
  of: string
  said: Said
}

/** Returns the messages, with the reactions to each at that message: the last of each person, unless taken back. */
export function withReactions(items: readonly Said[]): {
  items: Said[]
  reactions: ReadonlyMap<string, readonly Reaction[]>
} {
  const known = new Set(items.map(({ _id }) => _id))
  const isAtAnother = ({ reaction, quoted, state }: Said): boolean =>
    reaction !== undefined && quoted !== undefined && known.has(quoted._id) && !LOST.includes(state)
  const last = new Map<string, Map<string, Reaction>>()
  for (const said of items.filter(isAtAnother)) {
    const { quoted, reaction: emoji = '', from, name = '' } = said
    const of = from === 'person' ? `person ${name}` : BUSINESS
    const there = last.get(quoted?._id ?? '') ?? new Map<string, Reaction>()
    last.set(quoted?._id ?? '', there)
    if (emoji === '') there.delete(of)
    else there.set(of, { emoji, of, said })
  }
  return {
    items: items.filter((said) => !isAtAnother(said)),
    reactions: new Map([...last].map(([_id, of]) => [_id, [...of.values()]])),
  }
}

const BUSINESS = 'business'

/** The reaction of the business among those to an entry. */
export const ownReaction = (reactions: readonly Reaction[] = []): Reaction | undefined =>
  reactions.find(({ of }) => of === BUSINESS)
