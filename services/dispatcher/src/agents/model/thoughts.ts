import { CHANNEL, DATA, type Mark, markAt } from './thought-marks.ts'

const MAX_FENCE = 1_000

/** The rules for the place where a thought may begin. */
interface ThoughtRules {
  /** The prompt may have begun it, so that all before a closing mark is a thought; else the model alone does. */
  mayBeginInPrompt: boolean
}

/**
 * A model's text without what it thinks, and without facts between `<data>` and `</data>` that it repeats: without what stands between the marks that {@link markAt} knows, to the end
 * where the closing one is missing, and without all that stands before a closing one that has no opening one. What is
 * marked as code (in backquotes, or in a fenced block) stays as it is. The white space around a thought is left once.
 */
export function withoutThoughts(text: string): string {
  if (next(MARK, text, 0) === text.length && !PLAIN_HARMONY.test(text)) return text
  const filter = new ThoughtFilter({ mayBeginInPrompt: true })
  filter.push(text)
  return filter.end().join('')
}

/** The same for a text that comes in pieces: whatever they are, all that is returned is the same in the end. */
export class ThoughtFilter {
  readonly #rules: ThoughtRules
  readonly #pieces: string[] = []
  readonly #scan: Scan
  /** Text that is undecided yet; it is checked again when there is twice as much of it. */
  #rest = ''
  #lookAgainAt = 0

  constructor(rules: ThoughtRules) {
    this.#rules = rules
    this.#scan = new Scan(rules)
  }

  /** Returns the text that may leave now: none before the end if a thought may have begun in the prompt. */
  push(piece: string): string {
    if (this.#rules.mayBeginInPrompt) {
      this.#pieces.push(piece)
      return ''
    }
    this.#rest += piece
    if (this.#rest.length < this.#lookAgainAt) return ''
    this.#rest = this.#scan.read(this.#rest, false)
    this.#lookAgainAt = this.#rest.length * 2
    return this.#scan.take()
  }

  /** Returns the text that leaves in the end, in the pieces in which it came if all of it leaves. */
  end(): string[] {
    const left = this.#rules.mayBeginInPrompt ? afterPlainFinal(this.#pieces.join('')) : this.#rest
    this.#scan.read(left, true)
    const said = this.#scan.take()
    const visible = this.#rules.mayBeginInPrompt && this.#scan.isAfterThought ? said.trimEnd() : said
    if (this.#rules.mayBeginInPrompt && visible === this.#pieces.join('')) return this.#pieces
    return visible === '' ? [] : [visible]
  }
}

const PLAIN_HARMONY = /^\s*(?:analysis|commentary)/

/** A harmony answer whose special tokens were taken out by its server: `analysis…assistantfinal…`. */
function afterPlainFinal(text: string): string {
  const final = 'assistantfinal'
  const at = PLAIN_HARMONY.test(text) ? text.lastIndexOf(final) : -1
  return at === -1 ? text : text.slice(at + final.length)
}

/** The characters that begin a mark, with those that may follow them. */
const MARK = /<(?![^|/\s\w:.-])|\[(?![^/tr])|◁/gi
const CODE_OR_MARK = /[`~]|<(?![^|/\s\w:.-])|\[(?![^/tr])|◁/gi

/** Where the reading of a text is. */
class Scan {
  readonly #rules: ThoughtRules
  readonly #unclosed: Unclosed = new Map()
  #visible: string[] = []
  /** The family of the thought that it is in. */
  #inside: string | undefined
  /** True if no text has come since the last thought. */
  isAfterThought = false
  #endsBlank = true
  #isLineStart = true

  constructor(rules: ThoughtRules) {
    this.#rules = rules
  }

  take(): string {
    const visible = this.#visible.join('')
    this.#visible = []
    return visible
  }

  /** Reads a text, and returns what of its end can't be decided without more. */
  read(text: string, isWhole: boolean): string {
    let unsaid = 0
    let at = 0
    for (;;) {
      const isThought = this.#inside !== undefined
      const found = next(isThought ? MARK : CODE_OR_MARK, text, at)
      const isCode = text[found] === '`' || text[found] === '~'
      const mark = isCode || found === text.length ? undefined : markAt(text, found, isWhole)
      at = found + 1
      if (mark === undefined && !isCode && found < text.length) continue
      if (!isThought) this.#say(text.slice(unsaid, found))
      if (found === text.length) return ''
      const end = isCode ? this.#readCode(text, found, isWhole) : this.#readMark(mark)
      if (end === 'undecided') return text.slice(found)
      unsaid = end
      at = end
    }
  }

  #readCode(text: string, at: number, isWhole: boolean): number | 'undecided' {
    const unclosed = this.#unclosed
    const end = codeAt(text, { at, isLineStart: this.#isLineStart, isWhole, unclosed })
    if (end !== 'undecided') this.#say(text.slice(at, end))
    return end
  }

  #readMark(mark: Mark | 'undecided' | undefined): number | 'undecided' {
    if (mark === undefined || mark === 'undecided') return 'undecided'
    if (this.#inside === undefined) this.#meet(mark)
    else if (this.#closes(mark)) this.#inside = undefined
    this.isAfterThought = true
    return mark.end
  }

  #closes({ kind, family }: Mark): boolean {
    return family === this.#inside && (kind === 'closing' || kind === 'final')
  }

  #meet({ kind, family }: Mark): void {
    if (kind === 'opening') this.#inside = family
    // A part of a harmony answer ends as other models end their whole answer; facts never begin in the prompt.
    const staysSaid = family === CHANNEL || family === DATA
    const endsThought = kind === 'final' || (kind === 'closing' && !staysSaid)
    if (!endsThought || !this.#rules.mayBeginInPrompt) return
    this.#visible = []
    this.#endsBlank = true
    this.#isLineStart = true
  }

  #say(text: string): void {
    const said = this.isAfterThought && this.#endsBlank ? text.trimStart() : text
    if (said === '') return
    this.isAfterThought = false
    this.#visible.push(said)
    this.#endsBlank = /\s/.test(said.slice(-1))
    const lastLine = said.slice(said.lastIndexOf('\n') + 1)
    this.#isLineStart = lastLine.trim() === '' && (this.#isLineStart || lastLine.length < said.length)
  }
}

function next(pattern: RegExp, text: string, from: number): number {
  pattern.lastIndex = from
  return pattern.exec(text)?.index ?? text.length
}

/** Parts of a text searched to the end for unclosed code: the shortest run of each character that begins one. */
type Unclosed = Map<string, number>

/**
 * Where the code ends that begins with the backquotes or tildes at `at` (CommonMark): a fenced block that is closed, or a
 * span within one line; without code, where this run of characters ends. `undecided` where more of the text would tell.
 */
function codeAt(
  text: string,
  {
    at,
    isLineStart,
    isWhole,
    unclosed,
  }: { at: number; isLineStart: boolean; isWhole: boolean; unclosed: Unclosed },
): number | 'undecided' {
  const end = endOfRun(text, at)
  if (end === text.length) return isWhole ? end : 'undecided'
  const run = text.slice(at, end)
  const isFence = run.length >= 3 && isLineStart
  if (isFence) {
    const infoEnd = text.indexOf('\n', end)
    if (infoEnd === -1 && !isWhole) return 'undecided'
    const info = text.slice(end, infoEnd === -1 ? text.length : infoEnd)
    if (!info.includes('`')) return fenceEnd(text, { from: infoEnd, run, isWhole, unclosed }) ?? end
  }
  return run[0] === '~' ? end : (spanEnd(text, { from: end, length: run.length, isWhole }) ?? end)
}

function endOfRun(text: string, at: number): number {
  let end = at + 1
  while (text[end] === text[at]) end++
  return end
}

/** Undefined where it is not closed. */
function fenceEnd(
  text: string,
  options: { from: number; run: string; isWhole: boolean; unclosed: Unclosed },
): number | 'undecided' | undefined {
  const { from, run, isWhole, unclosed } = options
  const [character = ''] = run
  if (from === -1 || run.length >= (unclosed.get(character) ?? Number.POSITIVE_INFINITY)) return undefined
  for (let start = from + 1; start <= text.length; ) {
    const newline = text.indexOf('\n', start)
    if (newline === -1 && !isWhole) return 'undecided'
    const end = newline === -1 ? text.length : newline
    if (closes(text.slice(start, Math.min(end, start + MAX_FENCE)).trim(), run)) return end
    start = end + 1
  }
  unclosed.set(character, run.length)
  return undefined
}

const closes = (line: string, run: string): boolean =>
  line.startsWith(run) && endOfRun(line, 0) === line.length

/** Undefined where it is not closed before the line ends. */
function spanEnd(
  text: string,
  { from, length, isWhole }: { from: number; length: number; isWhole: boolean },
): number | 'undecided' | undefined {
  for (let at = from; at < text.length; ) {
    if (text[at] === '\n') return undefined
    if (text[at] !== '`') {
      at++
      continue
    }
    const end = endOfRun(text, at)
    if (end === text.length && !isWhole) return 'undecided'
    if (end - at === length) return end
    at = end
  }
  return isWhole ? undefined : 'undecided'
}
