import { ParleyError, type Problem } from '@parley/client/parley-error'
import { paint, printable, printableLines } from './output.ts'

/** Exit codes of the program, by the class of what happened. */
export const EXIT = {
  fine: 0,
  findings: 1,
  unsent: 1,
  usage: 2,
  unauthenticated: 3,
  forbidden: 4,
  notFound: 5,
  refused: 6,
  unavailable: 7,
  bug: 70,
  interrupted: 130,
} as const

/** The meaning of each exit code. `docs/cli.md` has this table. */
export const EXIT_MEANINGS: readonly [number, string][] = [
  [EXIT.fine, 'It worked'],
  [
    EXIT.findings,
    '`check` or `doctor` found something, `people import` refused rows, or what `send --wait` waited for is given up, or not sent yet',
  ],
  [EXIT.usage, 'An argument is missing or wrong'],
  [EXIT.unauthenticated, 'Not logged in, or the token does not hold any more'],
  [EXIT.forbidden, 'The role does not allow it'],
  [EXIT.notFound, 'There is no such message, document or file'],
  [EXIT.refused, 'Parley refused the request as it stands'],
  [EXIT.unavailable, 'Parley can not be reached, is unavailable or limits the rate: try again later'],
  [EXIT.bug, 'Something else: the output can not be written, or a bug of this program'],
  [EXIT.interrupted, 'Interrupted'],
]

type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** A failure that is said in words of its own. */
export class Failure extends Error {
  readonly exitCode: ExitCode

  constructor(message: string, exitCode: ExitCode) {
    super(message)
    this.name = 'Failure'
    this.exitCode = exitCode
  }
}

/** The end of posting a message under `key`. */
export class PostFailure extends Error {
  readonly key: string

  constructor(cause: unknown, key: string) {
    super('The message could not be posted.', { cause })
    this.name = 'PostFailure'
    this.key = key
  }
}

/** The failure of writing somewhere: a full disk, a folder that is not the caller's. */
export function unwritable(where: string, error: unknown): Failure {
  const { code, message } = error as NodeJS.ErrnoException
  return new Failure(`${where} can not be written (${code ?? message}).`, EXIT.bug)
}

/** Says on the error stream what failed and what to do, and returns the exit code. */
export function reportFailure(error: unknown, { json }: { json: boolean }): number {
  const { message, exitCode, problem, key } = readFailure(error)
  if (json) console.error(JSON.stringify({ error: { message, exitCode, problem, key } }))
  else {
    console.error(`${paint('red', 'error:', process.stderr)} ${printableLines(message)}`)
    for (const { path, message } of problem?.errors ?? [])
      console.error(printable(`  ${path || '/'} ${message}`))
    if (problem !== undefined)
      console.error(
        paint('dim', printable(`  ${problem.code}, request ${problem.requestId}`), process.stderr),
      )
    if (key !== undefined)
      console.error(
        `  The message may have been accepted. Repeat the command with --key ${key}: it stays one message.`,
      )
  }
  return exitCode
}

interface Reading {
  message: string
  exitCode: number
  problem?: Problem | undefined
  /** Of a message that may have been accepted. */
  key?: string
}

/** After these nobody knows whether a message was accepted. */
const UNCERTAIN: readonly number[] = [EXIT.unavailable, EXIT.bug, EXIT.interrupted]

function readFailure(error: unknown): Reading {
  if (error instanceof Failure) return { message: error.message, exitCode: error.exitCode }
  if (error instanceof PostFailure) {
    const reading = readFailure(error.cause)
    return UNCERTAIN.includes(reading.exitCode) ? { ...reading, key: error.key } : reading
  }
  if (error instanceof ParleyError) return readRefusal(error)
  if (isUnreachable(error)) {
    const message = `Parley can not be reached (${networkCode(error) ?? 'no response'}). Is the address right? parley doctor says more.`
    return { message, exitCode: EXIT.unavailable }
  }
  // Nothing else than a response is read as JSON without saying what is wrong with it.
  if (error instanceof SyntaxError) {
    const message = 'What responds is not Parley: its response is no JSON. Is the address right?'
    return { message, exitCode: EXIT.unavailable }
  }
  return {
    message: error instanceof Error ? (error.stack ?? error.message) : String(error),
    exitCode: EXIT.bug,
  }
}

function readRefusal({ status, problem, message: text }: ParleyError): Reading {
  const message = problem === undefined ? text : [problem.title, problem.detail].filter(Boolean).join(': ')
  if (status === 401)
    return { message: `${message}. Log in with parley login.`, exitCode: EXIT.unauthenticated, problem }
  if (status === 403)
    return {
      message: `${message}. Ask an admin of the workspace for the role.`,
      exitCode: EXIT.forbidden,
      problem,
    }
  if (status === 404) return { message, exitCode: EXIT.notFound, problem }
  if (status === 429 || status >= 500)
    return { message: `${message}. Try again later.`, exitCode: EXIT.unavailable, problem }
  return { message, exitCode: EXIT.refused, problem }
}

/** Such as ECONNREFUSED; undefined for an error without one, as timeouts are: the code of a DOMException is a number. */
export function networkCode(error: unknown): string | undefined {
  const { code } = ((error as Error).cause ?? error) as { code?: unknown }
  return typeof code === 'string' ? code : undefined
}

/** True for an error by which fetch rejects where no response came, or not all of it: a TypeError with its cause, or a timeout. */
export function isUnreachable(error: unknown): error is Error {
  return (
    (error instanceof TypeError && ['fetch failed', 'terminated'].includes(error.message)) ||
    (error instanceof Error && error.name === 'TimeoutError')
  )
}
