/** A pass may lay bare what another one has to convert; a text that is not done by then stays as it came. */
const MAX_PASSES = 8
const MAX_URL = 2_048
const MAX_DEPTH = 8

/**
 * Turns Markdown into WhatsApp's markup: bold, italic, struck text, headings, links, lists, and tables as
 * lines. Code and URLs stay as they are, and so does what is WhatsApp's already: converting twice is converting once. It
 * takes time in proportion to the text.
 */
export function toMarkup(text: string): string {
  let converted = text
  for (let passes = 0; passes < MAX_PASSES; passes++) {
    const next = convertOnce(converted)
    if (next === converted) return converted
    converted = next
  }
  return text
}

const FENCE = /^[\s>]*(?:(?:[-*+]|\d{1,9}[.)])\s+)?(`{3,}|~{3,})(.*)$/s

function convertOnce(text: string): string {
  const lines = text.split('\n')
  const written: string[] = []
  let at = 0
  while (at < lines.length) {
    const line = lines[at] ?? ''
    const end = endOfFence(lines, at) ?? endOfTable(lines, at)
    if (end === undefined) {
      written.push(convertLine(line))
      at++
      continue
    }
    // Pushed one by one: there may be more than a call takes.
    for (const one of convertBlock(lines.slice(at, end))) written.push(one)
    at = end
  }
  return written.join('\n')
}

function convertBlock(block: readonly string[]): readonly string[] {
  const [first = ''] = block
  if (!FENCE.test(first)) return tableLines(block)
  return IS_TEXT.test(first) ? insideOf(block) : block
}

/** The line after a block of code that begins here, which goes on to the end where nothing closes it. */
function endOfFence(lines: readonly string[], from: number): number | undefined {
  const [, mark = '', rest = ''] = FENCE.exec(lines[from] ?? '') ?? []
  if (mark === '' || rest.includes(mark[0] ?? '')) return undefined
  for (let at = from + 1; at < lines.length; at++)
    if ((lines[at] ?? '').trimEnd().endsWith(mark)) return at + 1
  return lines.length
}

/** Some models put the whole of what they say into a block of Markdown; what is in it is for the next pass. */
const IS_TEXT = /^\s*(?:`{3,}|~{3,})\s*(?:markdown|md)\s*$/i

function insideOf(block: readonly string[]): readonly string[] {
  const isClosed = /^\s*(?:`{3,}|~{3,})\s*$/.test(block.at(-1) ?? '')
  return block.slice(1, isClosed ? -1 : undefined)
}

/** The line after a table whose header begins here. */
function endOfTable(lines: readonly string[], from: number): number | undefined {
  const [header = '', rule = ''] = [lines[from], lines[from + 1]]
  if (!header.includes('|') || !isRule(rule)) return undefined
  let at = from + 2
  while (at < lines.length && lines[at]?.includes('|')) at++
  return at
}

const isRule = (line: string): boolean =>
  line.includes('|') && line.includes('-') && cellsOf(line).every((cell) => /^:?-+:?$/.test(cell))

function tableLines([header = '', , ...rows]: readonly string[]): string[] {
  const title = cellsOf(header)
    .map((cell) => convertInline(cell))
    .join(' | ')
  return [asBold(title), ...rows.map((row) => cellsOf(row).map(convertInline).join(' | '))]
}

function cellsOf(row: string): string[] {
  const inner = row.trim().replace(/^\|/, '')
  const cells = inner.split(/(?<!\\)\|/).map((cell) => cell.trim())
  return cells.at(-1) === '' && cells.length > 1 ? cells.slice(0, -1) : cells
}

const PREFIX = /^(?:[ \t]*>)*[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?/
const HEADING = /^#{1,6}[ \t]+(\S.*)$/s

function convertLine(line: string): string {
  const [prefix = ''] = PREFIX.exec(line) ?? []
  const rest = line.slice(prefix.length)
  const marker = prefix.replace(/\+(?=[ \t]+$)/, '-')
  const [, title] = HEADING.exec(rest) ?? []
  if (title === undefined) return marker + convertInline(rest)
  return marker + asBold(convertInline(withoutClosing(title)))
}

/** Without the marks that may close a heading. */
function withoutClosing(title: string): string {
  const trimmed = title.trimEnd()
  let end = trimmed.length
  while (trimmed[end - 1] === '#') end--
  return end < trimmed.length && /\s/.test(trimmed[end - 1] ?? '') ? trimmed.slice(0, end).trimEnd() : trimmed
}

const URL_BEGIN = /https?:\/\//i

/** Makes a text with bold parts bold as a whole. A URL would end with the mark after it. */
function asBold(text: string): string {
  if (URL_BEGIN.test(text) || text.includes('`')) return text
  const plain = text.replaceAll('*', '').trim()
  return /[\p{L}\p{N}]/u.test(plain) ? `*${plain}*` : text
}

const URL_HERE = /(?:https?:\/\/|www\.)[^\s<>]+/iy
/** Characters that follow a URL as a rule, and are not of it. */
const AFTER_URL = new Set('*_~.,;:!?\'")]|')
const AUTOLINK = /<(https?:\/\/[^\s<>]{1,2048})>/iy
const TICKS = /`+/y
const RUN = /\*+|_+|~+/y
const SPECIAL = /[\\`[!<*_~]|https?:\/\/|www\./gi

/** The marks of WhatsApp for a run of Markdown's, as it opens and as it closes. */
const MARKS: Readonly<Record<string, readonly [string, string]>> = {
  '**': ['*', '*'],
  __: ['*', '*'],
  '***': ['*_', '_*'],
  ___: ['*_', '_*'],
  '~~': ['~', '~'],
}

/** A part of one line. */
function convertInline(line: string): string {
  const parts: string[] = []
  /** Where among the parts the latest run of each kind stands that may open something. */
  const opened = new Map<string, number>()
  const ticks = ticksIn(line)
  let at = 0
  const take = (end: number, written = line.slice(at, end)) => {
    if (end > at) parts.push(written)
    at = end
  }
  while (at < line.length) {
    SPECIAL.lastIndex = at
    const next = SPECIAL.exec(line)
    take(next?.index ?? line.length)
    if (next === null) break
    const read = readSpecial(line, at, ticks)
    if (read !== undefined) {
      take(read.end, read.written)
      continue
    }
    const run = matchAt(RUN, line, at)?.[0] ?? ''
    const opener = opened.get(run)
    const marks = MARKS[run]
    if (marks !== undefined && opener !== undefined && mayClose(line, at, run) && opener + 1 < parts.length) {
      parts[opener] = marks[0]
      take(at + run.length, marks[1])
      for (const [kind, place] of opened) if (place >= opener) opened.delete(kind)
      continue
    }
    if (marks !== undefined && mayOpen(line, at, run)) opened.set(run, parts.length)
    take(at + Math.max(run.length, 1))
  }
  return parts.join('')
}

interface Read {
  end: number
  /** In WhatsApp's markup, where that is something else. */
  written?: string
}

/** Reads what is no mark: code, a link, a URL, or a character that was escaped. */
function readSpecial(line: string, at: number, ticks: Ticks): Read | undefined {
  switch (line[at]) {
    case '\\':
      return { end: Math.min(at + 2, line.length) }
    case '`':
      return { end: endOfCode(line, at, ticks) }
    case '!':
      return line[at + 1] === '[' ? readLink(line, at + 1) : { end: at + 1 }
    case '[':
      return readLink(line, at)
    case '<': {
      const [all, url] = matchAt(AUTOLINK, line, at) ?? []
      return all === undefined ? { end: at + 1 } : { end: at + all.length, ...(url && { written: url }) }
    }
    case '*':
    case '_':
    case '~':
      return undefined
    default:
      return { end: endOfUrl(line, at) }
  }
}

function endOfUrl(line: string, at: number): number {
  let end = at + (matchAt(URL_HERE, line, at)?.[0].length ?? 1)
  while (end > at + 1 && AFTER_URL.has(line[end - 1] ?? '')) end--
  return end
}

const TARGET = /^\s*<?([^\s<>]+)>?(?:\s+["'](.*)["'])?\s*$/
const isSubscript = (line: string, at: number, target: string): boolean =>
  OPERAND.test(line[at - 1] ?? '') && !target.includes(':')

/** `[text](url)` as `text (url)`, or as the URL where the text says nothing else. */
function readLink(line: string, at: number): Read {
  const none = { end: at + 1 }
  let close = at + 1
  while (close < line.length && line[close] !== ']' && line[close] !== '[') close++
  if (line[close] !== ']' || line[close + 1] !== '(') return none
  const end = endOfTarget(line, close + 2)
  if (end === undefined) return none
  const [, target, title] = TARGET.exec(line.slice(close + 2, end)) ?? []
  if (target === undefined || isSubscript(line, at, target)) return none
  const said = convertInline(line.slice(at + 1, close)).trim()
  const text = [said === target ? '' : said, title].filter((words) => words).join(', ')
  const before = OPERAND.test(line[at - 1] ?? '') ? ' ' : ''
  return { end: end + 1, written: before + (text === '' ? target : `${text} (${target})`) }
}

/** Where the parenthesis closes that was opened before. */
function endOfTarget(line: string, from: number): number | undefined {
  let depth = 0
  const last = Math.min(line.length, from + MAX_URL)
  for (let at = from; at < last; at++) {
    if (line[at] === '(' && ++depth > MAX_DEPTH) return undefined
    if (line[at] === ')' && depth-- === 0) return at
  }
  return undefined
}

/** Of each length of backticks, where the last run of it begins. */
type Ticks = ReadonlyMap<number, number>

function ticksIn(line: string): Ticks {
  const runs = [...line.matchAll(/`+/g)]
  return new Map(runs.map(({ index, 0: run }) => [run.length, index]))
}

/** After the code that begins here; after its marks alone where nothing closes it. */
function endOfCode(line: string, at: number, ticks: Ticks): number {
  const { length } = matchAt(TICKS, line, at)?.[0] ?? '`'
  if ((ticks.get(length) ?? at) <= at) return at + length
  for (let from = at + length; ; ) {
    const begin = line.indexOf('`', from)
    const run = matchAt(TICKS, line, begin)?.[0].length ?? 0
    if (run === length || run === 0) return begin + run
    from = begin + run
  }
}

function matchAt(pattern: RegExp, line: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at
  return pattern.exec(line)
}

const WORD = /[\p{L}\p{N}_]/u
/** The rest of a program's name after its underscores. */
const IN_NAME = /^(?:[\p{L}\p{N}_(]|\.\w)/u
/** After one of these two asterisks are a power, or the end of something. */
const OPERAND = /[A-Za-z0-9)\]]/

const mayOpen = (line: string, at: number, run: string): boolean =>
  /\S/.test(line[at + run.length] ?? '') && !(run[0] === '_' ? WORD : OPERAND).test(line[at - 1] ?? '')

const mayClose = (line: string, at: number, run: string): boolean =>
  /\S/.test(line[at - 1] ?? '') &&
  !(run[0] === '_' && IN_NAME.test(line.slice(at + run.length, at + run.length + 2)))
