import { styleText } from 'node:util'

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const FRAME_MS = 100
const CLEAR_LINE = '\r\u001b[2K'

type Output = Pick<NodeJS.WriteStream, 'write'> & { isTTY?: boolean; columns?: number }

/** A terminal with lines that stay, and below them one that says what is being done. */
export interface StatusLine {
  /** A line that stays. */
  say(line: string): void
  /** Shows what is being done from now on. */
  status(text: string): void
  /** Nothing is being done any more. */
  end(): void
}

/** The status moves on a terminal; elsewhere it is a line once. */
export function createStatusLine(output: Output): StatusLine {
  let text: string | undefined
  let timer: NodeJS.Timeout | undefined
  const started = performance.now()
  const draw = () => {
    if (text === undefined) return
    const elapsedMs = performance.now() - started
    const frame = FRAMES[Math.floor(elapsedMs / FRAME_MS) % FRAMES.length] ?? ''
    const line = ` ${text} (${Math.floor(elapsedMs / 1_000)} s)`.slice(0, (output.columns ?? 80) - 2)
    output.write(CLEAR_LINE + styleText('cyan', frame) + line)
  }
  if (!output.isTTY)
    return {
      say: (line) => void output.write(`${line}\n`),
      status: (said) => void output.write(`${said} …\n`),
      end: () => undefined,
    }
  return {
    say(line) {
      output.write(`${text === undefined ? '' : CLEAR_LINE}${line}\n`)
      draw()
    },
    status(said) {
      text = said
      timer ??= setInterval(draw, FRAME_MS)
      draw()
    },
    end() {
      clearInterval(timer)
      timer = undefined
      if (text !== undefined) output.write(CLEAR_LINE)
      text = undefined
    },
  }
}
