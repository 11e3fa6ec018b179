import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { EXIT } from './failure.ts'

/** The line that is typed after a question; undefined where the input ends (Ctrl-D). Ctrl-C ends the program. */
export async function askAtTerminal(question: string, { hidden = false } = {}): Promise<string | undefined> {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  const reader = createInterface({
    input: process.stdin,
    output: hidden ? silent : process.stderr,
    terminal: hidden,
  })
  reader.once('SIGINT', () => process.exit(EXIT.interrupted))
  // The terminal shows what is typed until the reader is there.
  process.stderr.write(question)
  const line = await new Promise<string | undefined>((resolve) => {
    reader.once('line', resolve)
    reader.once('close', () => resolve(undefined))
  })
  reader.close()
  if (hidden || line === undefined) process.stderr.write('\n')
  return line
}
