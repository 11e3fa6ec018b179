import { styleText } from 'node:util'

type Format = Parameters<typeof styleText>[0]

/** The text in a format where the stream is a terminal that shows it; else as it is. `NO_COLOR` turns it off. */
export function paint(format: Format, text: string, stream: NodeJS.WriteStream = process.stdout): string {
  return stream.isTTY === true ? styleText(format, text, { stream }) : text
}

/** Writes a line for people. */
export function say(line = ''): void {
  process.stdout.write(`${line}\n`)
}

/** Writes a value as JSON: in one line, so that one value is one line of a longer output. */
export function sayJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`)
}

/** Says on the error stream that Parley is asked again. */
export function warnOfRetry({ json }: { json?: true | undefined }): void {
  const message = 'Parley can not be reached at the moment; trying again.'
  console.error(json ? JSON.stringify({ warning: { message } }) : paint('yellow', message, process.stderr))
}

/** Text of others without control characters, which a terminal might obey. */
export function printable(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, '\ufffd')
}

/** The same for text of several lines. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n')
}

const STATE_FORMATS: Record<string, Format> = {
  ...{ received: 'cyan', handled: 'cyan', sending: 'cyan', sent: 'blue' },
  ...{ delivered: 'green', read: 'green', done: 'green' },
  ...{ failed: 'red', dead: 'red', unrouted: 'yellow' },
}

/** A state in its colour, as wide as the longest. */
export function paintState(state: string): string {
  return paint(STATE_FORMATS[state] ?? 'white', state.padEnd(9))
}

/** A time of today without its date, in the zone of this machine; `-` for none. */
export function timeText(at: string | Date | undefined, now = new Date()): string {
  if (at === undefined) return '-'
  const time = new Date(at)
  const clock = [time.getHours(), time.getMinutes(), time.getSeconds()].map(twoDigits).join(':')
  const isToday = time.toDateString() === now.toDateString()
  return isToday
    ? clock
    : `${time.getFullYear()}-${twoDigits(time.getMonth() + 1)}-${twoDigits(time.getDate())} ${clock}`
}

const twoDigits = (value: number): string => String(value).padStart(2, '0')
