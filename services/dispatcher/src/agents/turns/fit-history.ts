import type { ConversationItem } from '../model-client.ts'

/** By this estimate, which needs no tokenizer, a text has this many characters for each token. */
export const CHARACTERS_PER_TOKEN = 4
/** Characters that a shortened result keeps, as long as nothing is left out. */
export const LEAST_RESULT = 500

const HIGH_SURROGATE = /[\uD800-\uDBFF]$/
const LOW_SURROGATE = /^[\uDC00-\uDFFF]/

/** The items of one message, by the person and to the person. */
export interface Exchange {
  items: ConversationItem[]
  /** It is answered with the message: it is given in any case, whole, and takes no room. */
  isRequired?: boolean
}

/**
 * The conversation, oldest first, in so many tokens of four characters: results of tools are shortened first, the oldest
 * before the others, then the oldest messages are left out. The newest one is there in any case, shortened if need be. A
 * call is never there without its result.
 */
export function fitHistory<T extends Exchange>(exchanges: readonly T[], tokens: number): T[] {
  const room = Math.max(0, Math.floor(tokens)) * CHARACTERS_PER_TOKEN
  const chosen = latest(exchanges, room)
  let left = room - sum(chosen.map((one) => (one.isRequired ? 0 : shortestOf(one.items))))
  const fitted = chosen.toReversed().map((one) => {
    if (one.isRequired) return one
    const least = shortestOf(one.items)
    const items = left < 0 ? squeezed(one.items, room) : withShortResults(one.items, least + left)
    left = Math.max(0, left - (sum(items.map(charactersOf)) - least))
    return { ...one, items }
  })
  return fitted.reverse()
}

/** How many characters items have at least, as long as none is left out. */
export const shortestOf = (items: readonly ConversationItem[]): number =>
  sum(items.map((item) => charactersOf(withResults(item, (length) => Math.min(length, LEAST_RESULT)))))

/** The items, of whose results the oldest are shortened first where all have more than so many characters; something of each is left. */
export function withShortResults(items: readonly ConversationItem[], characters: number): ConversationItem[] {
  let left = Math.max(0, characters - shortestOf(items))
  const lengthOf = (length: number) => {
    const given = Math.min(length, LEAST_RESULT + left)
    left -= Math.max(0, given - LEAST_RESULT)
    return given
  }
  return items
    .toReversed()
    .map((item) => withResults(item, lengthOf))
    .reverse()
}

/** Returns the characters that an item takes of a history's room. */
export function charactersOf(item: ConversationItem): number {
  if (item.role === 'person') return item.text.length
  if (item.role === 'data') return item.json.length
  return item.calls.reduce(
    (sum, { tool, args, result }) => sum + tool.length + args.length + result.text.length,
    item.text.length,
  )
}

/** Those that fit in their shortest form, and the newest in any case. */
function latest<T extends Exchange>(exchanges: readonly T[], room: number): T[] {
  const newest = exchanges.findLastIndex(({ isRequired = false }) => !isRequired)
  let left = room
  const before = exchanges.findLastIndex(({ isRequired = false, items }, position) => {
    if (isRequired) return false
    left -= shortestOf(items)
    return left < 0 && (position !== newest || room === 0)
  })
  return exchanges.filter(({ isRequired = false }, position) => isRequired || position > before)
}

/** The end of one message, where not even that fits with short results. */
function squeezed(items: readonly ConversationItem[], room: number): ConversationItem[] {
  let left = room
  const fitting: ConversationItem[] = []
  for (const item of items.toReversed()) {
    const short = left <= 0 ? undefined : cutItem(item, left)
    if (short === undefined) break
    left -= charactersOf(short)
    fitting.unshift(short)
  }
  return fitting
}

/** An item in so many characters, without its calls where those alone have more; undefined where nothing is left of it. */
function cutItem(item: ConversationItem, room: number): ConversationItem | undefined {
  if (item.role === 'data') return undefined
  if (item.role === 'person') return { ...item, text: beginningOf(item.text, room) }
  const { calls, ...said } = withResults(item, (length) => Math.min(length, LEAST_RESULT)) as typeof item
  const ofCalls = charactersOf({ ...said, text: '', calls })
  // The latest question stands at the end.
  if (ofCalls <= room) return { ...said, text: endOf(said.text, room - ofCalls), calls }
  const { reasoning: _reasoning, ...plain } = said
  return said.text === '' ? undefined : { ...plain, text: endOf(said.text, room), calls: [] }
}

/** The item, each of its results as long as `lengthOf` says of its length; the last one is asked about first. */
function withResults(item: ConversationItem, lengthOf: (length: number) => number): ConversationItem {
  if (item.role !== 'assistant' || item.calls.length === 0) return item
  const calls = item.calls.toReversed().map((call) => {
    const { text } = call.result
    const length = lengthOf(text.length)
    if (length >= text.length) return call
    return { ...call, result: { ...call.result, text: beginningOf(text, length), cut: true as const } }
  })
  return { ...item, calls: calls.reverse() }
}

const beginningOf = (text: string, length: number): string =>
  text.length <= length ? text : text.slice(0, length).replace(HIGH_SURROGATE, '')

const endOf = (text: string, length: number): string =>
  text.length <= length ? text : text.slice(text.length - length).replace(LOW_SURROGATE, '')

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0)
