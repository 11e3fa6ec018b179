/** A mark of a model: what stands between an opening one and a closing one of its family is a thought. */
export interface Mark {
  /** `final` begins the answer, whatever was said before; `none` says nothing. */
  kind: 'opening' | 'closing' | 'final' | 'none'
  family: string
  /** Where it ends. */
  end: number
}

/** A harmony answer (gpt-oss) names the channel of each part: all but the final one are thoughts, or calls. */
export const CHANNEL = '<|channel|>'
const MESSAGE = '<|message|>'
/** Facts that a model was given, which a weak one repeats. */
export const DATA = '<data>'
const MAX_CHANNEL = 200
const FINAL = /^\s*final\b/i

/** Special tokens of models whose server does not take them out, in lower case. */
const TOKENS: [text: string, mark: Omit<Mark, 'end'>][] = [
  ...pair('[think]', '[/think]'),
  ...pair(DATA, '</data>'),
  ...pair('[thinking]', '[/thinking]'),
  ...pair('[reasoning]', '[/reasoning]'),
  ...pair('◁think▷', '◁/think▷'),
  ...pair('<|think|>', '<|/think|>'),
  ...pair('<|thinking|>', '<|/thinking|>'),
  ...pair('<|start_thinking|>', '<|end_thinking|>'),
  ...pair('<|begin_of_thought|>', '<|end_of_thought|>'),
  ...pair('<|inner_prefix|>', '<|inner_suffix|>'),
  ...pair('<|channel>thought', '<channel|>'),
  ...pair('<unused94>', '<unused95>'),
  ...tokens({ kind: 'closing', family: CHANNEL }, ['<|end|>', '<|return|>', '<|call|>']),
  ...tokens({ kind: 'none', family: '' }, [
    ...['<|start|>assistant', '<|start|>', MESSAGE, '<|im_end|>', '<|start_response|>', '<|end_response|>'],
    ...['<|begin_of_solution|>', '<|end_of_solution|>'],
  ]),
]
const MARK_OF = new Map(TOKENS)
const TEXTS = [CHANNEL, ...MARK_OF.keys()].sort((one, other) => other.length - one.length)
const LONGEST = TEXTS[0]?.length ?? 0
const TOKEN = new RegExp(TEXTS.map((text) => text.replaceAll(/[[\]|]/g, '\\$&')).join('|'), 'iy')

/** A tag, of which the name may not be all there yet. */
const TAG = /<\s{0,3}(\/?)\s{0,3}([\w:.-]{0,100})/y
/** `think` and its like, alone or with a word of the model's own: `seed:think`, `longcat_think`, `think_fast`. */
const THOUGHT =
  /^(?:[a-z0-9.-]{1,40}[:_])?(?:think(?:ing)?|thoughts?|reasoning|antthinking)(?:_[\w.]{1,60})?$/i
const OTHERS = /^(?:scratchpad|reasoning_scratchpad|inner_monologue)$/i

/** The mark at a place of a text, if one is there; `undecided` where more of the text would tell. */
export function markAt(text: string, at: number, isWhole: boolean): Mark | 'undecided' | undefined {
  if (!isWhole && isBeginningOfToken(text.slice(at, at + LONGEST))) return 'undecided'
  TOKEN.lastIndex = at
  const [token = ''] = TOKEN.exec(text) ?? []
  const mark = MARK_OF.get(token.toLowerCase())
  if (mark !== undefined) return { ...mark, end: at + token.length }
  if (token !== '') return channelAt(text, at, isWhole)
  return text[at] === '<' ? tagAt(text, at, isWhole) : undefined
}

/** True if more text could make it a token, or a longer token than it is. */
function isBeginningOfToken(text: string): boolean {
  if (text.length >= LONGEST) return false
  const lower = text.toLowerCase()
  return TEXTS.some((token) => token.length > lower.length && token.startsWith(lower))
}

function channelAt(text: string, at: number, isWhole: boolean): Mark | 'undecided' | undefined {
  const start = at + CHANNEL.length
  const header = text.slice(start, start + MAX_CHANNEL)
  const end = header.indexOf(MESSAGE)
  if (end === -1 && !isWhole && header.length < MAX_CHANNEL) return 'undecided'
  const kind = FINAL.test(header) ? 'final' : 'opening'
  return { kind, family: CHANNEL, end: start + (end === -1 ? 0 : end + MESSAGE.length) }
}

function tagAt(text: string, at: number, isWhole: boolean): Mark | 'undecided' | undefined {
  TAG.lastIndex = at
  const [all = '', slash, name = ''] = TAG.exec(text) ?? []
  const end = at + all.length
  if (end === text.length && !isWhole) return 'undecided'
  if (!THOUGHT.test(name) && !OTHERS.test(name)) return undefined
  if (end < text.length && !/[\s/>]/.test(text[end] ?? '')) return undefined
  // Its attributes; what is no tag any more ends them.
  const close = endOfTag(text, end)
  if (close === text.length && !isWhole) return 'undecided'
  const isEmpty = text[close] === '>' && text[close - 1] === '/'
  const kind = slash === '/' ? 'closing' : isEmpty ? 'none' : 'opening'
  return { kind, family: 'tag', end: text[close] === '>' ? close + 1 : close }
}

function endOfTag(text: string, from: number): number {
  let at = from
  while (at < text.length && text[at] !== '>' && text[at] !== '<') at++
  return at
}

function pair(opening: string, closing: string): typeof TOKENS {
  return [
    [opening, { kind: 'opening', family: opening }],
    [closing, { kind: 'closing', family: opening }],
  ]
}

function tokens(mark: Omit<Mark, 'end'>, texts: string[]): typeof TOKENS {
  return texts.map((text) => [text, mark])
}
