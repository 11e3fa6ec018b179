import type { ErrorRequestHandler, RequestHandler } from 'express'
import { defined } from './defined.ts'
import { type ErrorCode, errors, problemType } from './errors.ts'
import { type PendingResponse, pathOf, type ReceivedRequest } from './exchange.ts'
import type { Log } from './log.ts'
import { inAcceptedLanguage } from './problem-texts.ts'
import { isUnavailable } from './unavailable.ts'

/** One error in a request: `path` is a JSON Pointer (RFC 6901) into the body, or to a parameter or header: `/limit`. */
export interface FieldError {
  path: string
  code: string
  message: string
  /** Where in an expression the error is, 1-based. */
  column?: number
}

interface ProblemOptions {
  detail?: string
  /** Of many, the first 100 are sent, with their number. */
  errors?: readonly FieldError[]
  /** How many errors there are, where `errors` has only some. */
  errorsTotal?: number
  /** Seconds after which trying again makes sense; sent as `Retry-After`. */
  retryAfter?: number
  headers?: Record<string, string>
  /** Members to add to the body in addition to those of RFC 9457. */
  extra?: Record<string, unknown>
  cause?: unknown
}

/** An error that is reported to the caller, as an RFC 9457 problem. */
export class Problem extends Error {
  readonly code: ErrorCode
  readonly options: ProblemOptions

  constructor(code: ErrorCode, options: ProblemOptions = {}) {
    super(options.detail ?? errors[code].title, { cause: options.cause })
    this.name = 'Problem'
    this.code = code
    this.options = options
  }

  get status(): number {
    return errors[this.code].status
  }
}

const MAX_FIELD_ERRORS = 100
const MAX_CHARACTERS = 500

const DEFAULT_RETRY_AFTER: Partial<Record<number, number>> = { 429: 1, 502: 1, 503: 1, 504: 1 }

/** The problem as a body, for a request id and the path it happened at. */
export function problemBody(
  problem: Problem,
  at: { instance: string; requestId: string },
  text: (english: string) => string = (english) => english,
): object {
  const { title, status } = errors[problem.code]
  const { detail, errors: fieldErrors, errorsTotal = fieldErrors?.length ?? 0, extra } = problem.options
  return {
    type: problemType(problem.code),
    title: text(title),
    status,
    ...defined({ detail: detail && text(detail) }),
    instance: at.instance,
    code: problem.code,
    requestId: at.requestId,
    ...(fieldErrors === undefined
      ? {}
      : { errors: fieldErrors.slice(0, MAX_FIELD_ERRORS).map((one) => shortened(one, text)) }),
    ...(errorsTotal > Math.min(MAX_FIELD_ERRORS, fieldErrors?.length ?? 0) ? { errorsTotal } : {}),
    ...extra,
  }
}

/** An error repeats what the caller sent, which may be long. */
function shortened(fieldError: FieldError, text: (english: string) => string): FieldError {
  return { ...fieldError, path: cut(fieldError.path), message: cut(text(fieldError.message)) }
}

const cut = (text: string): string =>
  text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS).toWellFormed()}…` : text

/** The headers that go with a problem, `Retry-After` and `WWW-Authenticate` included. */
export function problemHeaders(problem: Problem): Record<string, string> {
  const retryAfter = problem.options.retryAfter ?? DEFAULT_RETRY_AFTER[problem.status]
  return {
    'content-type': 'application/problem+json; charset=utf-8',
    'cache-control': 'no-store',
    ...(retryAfter === undefined ? {} : { 'retry-after': String(Math.ceil(retryAfter)) }),
    ...(problem.status === 401 ? { 'www-authenticate': 'Bearer realm="parley"' } : {}),
    ...problem.options.headers,
  }
}

/** Sends `problem` in the language that is asked for; the query string is left out of `instance`, since it may hold secrets. */
export function sendProblem(req: ReceivedRequest, res: PendingResponse, problem: Problem): void {
  res.statusCode = problem.status
  for (const [name, value] of Object.entries(problemHeaders(problem))) res.setHeader(name, value)
  const at = { instance: pathOf(req), requestId: requestIdOf(res) }
  res.end(inAcceptedLanguage(req, res, (text) => JSON.stringify(problemBody(problem, at, text))))
}

const requestIdOf = ({ locals }: PendingResponse): string => String(locals.requestId ?? '')

/** Last in the chain: answers whatever was thrown with {@link sendError}. */
export function problemHandler(log: Log): ErrorRequestHandler {
  return (error, req, res, _next) => sendError({ error, req, res, log })
}

/** Answers with the problem that `error` is; what is ours to mend is logged as an error. */
export function sendError(failed: {
  error: unknown
  req: ReceivedRequest
  res: PendingResponse
  log: Log
}): void {
  const { error, req, res, log } = failed
  const problem = toProblem(error)
  logProblem(log, problem, { error, requestId: res.locals.requestId })
  if (res.headersSent) return void res.destroy()
  sendProblem(req, res, problem)
}

/** Logs a problem: a caller's mistake is the request's own line; that a part is unavailable is known without a stack. */
function logProblem(
  log: Log,
  problem: Problem,
  { error, requestId }: { error: unknown; requestId: unknown },
): void {
  const cause = problem.options.cause ?? error
  if (problem.code === 'unavailable') {
    log.warn(
      { reason: cause instanceof Error ? cause.message : problem.message, requestId },
      'request not served',
    )
  } else if (problem.status >= 500) log.error({ err: cause, requestId }, 'request failed')
}

/** Answers a known path with the wrong method. */
export function methodNotAllowed(...allowed: string[]): RequestHandler {
  return () => {
    throw new Problem('method_not_allowed', { headers: { allow: allowed.join(', ') } })
  }
}

function toProblem(error: unknown): Problem {
  if (error instanceof Problem) return error
  if (isUnavailable(error)) return new Problem('unavailable', { cause: error })
  if (error instanceof URIError) return new Problem('invalid_path', { cause: error })
  return new Problem('internal_error', { cause: error })
}
