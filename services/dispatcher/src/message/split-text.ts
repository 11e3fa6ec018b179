import type { PersonalContent } from './message-record.ts'

/** Of a text that would be more, whose sends would be a flood, the provider is left to say that it is too long. */
const MAX_PARTS = 50
const GAP = /\s+|(?<=[。！？])/gu
const REST_OF_GAP = /\s*/y
/** A character that belongs to the one before it. */
const JOINED = /^[\p{M}\p{Emoji_Modifier}\u200C\u200D]/u
const SENTENCE_END = /[.!?…。！？][)\]"'”’»*_~]*$/u
const MAX_AFTER_SENTENCE = 8
const MAX_WORD = 100
const graphemes = new Intl.Segmenter()

/** Where a text is cut: its part ends at `end`, and the next one begins at `next`. */
interface Cut {
  end: number
  next: number
}

/** Returns the contents that send a text, in order: one, or several where it is longer than `maxText`. */
export function textsOf(text: string, maxText = Number.POSITIVE_INFINITY): { content: PersonalContent }[] {
  return splitText(text, maxText).map((part) => ({ content: { kind: 'text', text: part } }))
}

/**
 * The text in parts of at most `limit` UTF-16 code units, cut between paragraphs, else lines, else sentences, else
 * words, else characters as people see them: not inside of a URL, of code or between the marks of one markup, as far as
 * these are no longer than a part. Joined they are the text but for the white space at the cuts. A text of more than
 * 50 times `limit` stays whole.
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

/** The beginning of a text, up to `end` or, where that is inside of a word of up to 100 characters, to what is before it. */
export function endingAtWord(text: string, end: number): string {
  const beginning = text.slice(0, end)
  if (end >= text.length || /\s/.test(text.charAt(end))) return beginning
  const last = beginning.slice(-MAX_WORD)
  const gap = last.search(/\s\S*$/)
  return gap < 0 ? beginning.toWellFormed() : beginning.slice(0, beginning.length - last.length + gap)
}

/** At the last of the best gaps. Before its middle a part ends between words only, where nothing better is behind. */
function cutAtGap(text: string, limit: number): Cut | undefined {
  let best: (Cut & { rank: number }) | undefined
  const begin = text.slice(0, limit + 1)
  // Markup that is open at the end of a part may close behind it.
  const isInside = markupIn(text.slice(0, 2 * limit))
  // Gaps behind the limit are for the later parts.
  for (const { index: end, 0: begun } of begin.matchAll(GAP)) {
    const gap = begun + restOfGap(text, end + begun.length)
    const isJoined = JOINED.test(text.slice(end + gap.length, end + gap.length + 2))
    const next = end + gap.length - (isJoined ? 1 : 0)
    if (end > limit || next < end || (next === end && gap !== '')) continue
    const rank = rankOf(text, { end, gap, limit, isInside: isInside[end] === 1 })
    if (best === undefined || rank >= best.rank) best = { end, next, rank }
  }
  return best
}

/** How good it is to cut at a gap. What stands between the marks of one markup is cut only where there is nothing else. */
function rankOf(
  text: string,
  { end, gap, limit, isInside }: { end: number; gap: string; limit: number; isInside: boolean },
): number {
  const lines = Math.min(gap.split('\n').length - 1, 2)
  if (isInside) return lines > 0 ? -1 : -2
  if (end < limit / 2) return 0
  if (lines > 0) return 1 + lines
  return SENTENCE_END.test(text.slice(Math.max(0, end - MAX_AFTER_SENTENCE), end)) ? 1 : 0
}

function restOfGap(text: string, at: number): string {
  REST_OF_GAP.lastIndex = at
  return REST_OF_GAP.exec(text)?.[0] ?? ''
}

function cutAnywhere(text: string, limit: number): Cut {
  const begin = text.slice(0, limit + 2)
  const url = [...begin.matchAll(/https?:\/\/\S*/g)].findLast(({ index }) => index <= limit)
  const boundary =
    url !== undefined && url.index > 0
      ? url.index
      : graphemes.segment(begin).containing(limit)?.index || limit - splitsPair(text, limit)
  return { end: boundary, next: boundary }
}

/** 1 where the position is inside of a surrogate pair, else 0. */
const splitsPair = (text: string, at: number): number => ((text.codePointAt(at - 1) ?? 0) > 0xffff ? 1 : 0)

/** Marks of bold, italic and struck text, and of code: alone, and in blocks that go over lines. */
const MARK = /```|[`*_~\n]/g
const WORD = /[\p{L}\p{N}]/u

/** 1 for each position that is between two marks that belong together, else 0. */
function markupIn(text: string): Uint8Array {
  const inside = new Uint8Array(text.length + 1)
  const opened = new Map<string, number>()
  for (const { index, 0: mark } of text.matchAll(MARK)) {
    const begin = opened.get(mark)
    const [before = '', after = ''] = [text[index - 1], text[index + mark.length]]
    const isBlock = mark === '```'
    if (mark === '\n') {
      for (const one of opened.keys()) if (one !== '```') opened.delete(one)
    } else if (begin !== undefined && (isBlock || (/\S/.test(before) && !WORD.test(after)))) {
      inside.fill(1, begin + 1, index)
      opened.delete(mark)
    } else if (isBlock || (/\S/.test(after) && !WORD.test(before))) opened.set(mark, index)
  }
  const block = opened.get('```')
  return block === undefined ? inside : inside.fill(1, block + 1)
}
