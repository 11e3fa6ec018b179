import { styleText } from 'node:util'

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const FRAME_MS = 100
const REPEAT_MS = 10_000
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

/** The status moves on a terminal; elsewhere it is a line, and another one each 10 s, with how long it takes so far. */
export function createStatusLine(output: Output): StatusLine {
  let text: string | undefined
  let timer: NodeJS.Timeout | undefined
  const started = performance.now()
  const draw = () => {
    if (text === undefined) return
    const elapsedMs = performance.now() - started
    const frame = FRAMES[Math.floor(elapsedMs / FRAME_MS) % FRAMES.length] ?? ''
    const line = ` ${text} (${elapsedSeconds()} s)`.slice(0, (output.columns ?? 80) - 2)
    output.write(CLEAR_LINE + styleText('cyan', frame) + line)
  }
  const elapsedSeconds = () => Math.floor((performance.now() - started) / 1_000)
  const stop = () => {
    clearInterval(timer)
    timer = undefined
  }
  if (!output.isTTY)
    return {
      say: (line) => void output.write(`${line}\n`),
      status: (said) => {
        stop()
        output.write(`${said} …\n`)
        timer = setInterval(() => output.write(`${said} … (${elapsedSeconds()} s)\n`), REPEAT_MS)
      },
      end: stop,
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
      stop()
      if (text !== undefined) output.write(CLEAR_LINE)
      text = undefined
    },
  }
}
