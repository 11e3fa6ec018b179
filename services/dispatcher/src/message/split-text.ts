import type { PersonalContent } from './message-record.ts'

/** Of a text that would be more, whose sends would be a flood, the provider is left to say that it is too long. */
const MAX_PARTS = 50
const GAP = /\s+/g
const REST_OF_GAP = /\s*/y
/** A character that belongs to the one before it. */
const JOINED = /^[\p{M}\p{Emoji_Modifier}\u200C\u200D]/u
const graphemes = new Intl.Segmenter()

/** Where a text is cut: its part ends at `end`, and the next one begins at `next`. */
interface Cut {
  end: number
  next: number
}

/** What sends a text, in order: one thing, or several where it is longer than `maxText`. */
export function textsOf(text: string, maxText = Number.POSITIVE_INFINITY): { content: PersonalContent }[] {
  return splitText(text, maxText).map((part) => ({ content: { kind: 'text', text: part } }))
}

/**
 * The text in parts of at most `limit` UTF-16 code units, cut between paragraphs, else lines, else words, else
 * characters as people see them. Joined they are the text but for the white space at the cuts. A text of more than 50 times
 * `limit` stays whole.
 */
export function splitText(text: string, limit: number): string[] {
  if (text.length > limit * MAX_PARTS) return [text]
  const parts: string[] = []
  let rest = text
  while (rest.length > limit) {
    const { end, next } = cutAtGap(rest, limit) ?? cutAnywhere(rest, limit)
    if (end > 0) parts.push(rest.slice(0, end))
    rest = rest.slice(next)
  }
  return rest === '' ? parts : [...parts, rest]
}

/** At the last of the best gaps. Before its middle a part ends between words only, where nothing better is behind. */
function cutAtGap(text: string, limit: number): Cut | undefined {
  let best: (Cut & { rank: number }) | undefined
  // What is behind is for the parts to come.
  for (const { index: end, 0: begun } of text.slice(0, limit + 1).matchAll(GAP)) {
    const gap = begun + restOfGap(text, end + begun.length)
    const isJoined = JOINED.test(text.slice(end + gap.length, end + gap.length + 2))
    const next = end + gap.length - (isJoined ? 1 : 0)
    if (next === end) continue
    const rank = end < limit / 2 ? 0 : Math.min(gap.split('\n').length - 1, 2)
    if (best === undefined || rank >= best.rank) best = { end, next, rank }
  }
  return best
}

function restOfGap(text: string, at: number): string {
  REST_OF_GAP.lastIndex = at
  return REST_OF_GAP.exec(text)?.[0] ?? ''
}

function cutAnywhere(text: string, limit: number): Cut {
  const begin = text.slice(0, limit + 2)
  const boundary = graphemes.segment(begin).containing(limit)?.index || limit - splitsPair(text, limit)
  return { end: boundary, next: boundary }
}

/** 1 where the position is inside of a surrogate pair, else 0. */
const splitsPair = (text: string, at: number): number => ((text.codePointAt(at - 1) ?? 0) > 0xffff ? 1 : 0)
