/** What of a text was searched to its end for code that is not closed: the shortest run of each character that begins one. */
export type Unclosed = Map<string, number>

/**
 * Where the code ends that begins with the backquotes or tildes at `at` (CommonMark): a fenced block that is closed, or a
 * span within one line; without code, where this run of characters ends. `undecided` where more of the text would tell.
 */
export function codeAt(
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

const MAX_FENCE = 1_000

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
