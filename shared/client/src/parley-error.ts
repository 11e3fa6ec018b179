import type { components } from './api-types.ts'

/** The API's refusal of a call (RFC 9457); decide by its `code`. */
export type Problem = components['schemas']['Problem']
export type ProblemCode = Problem['code']

/** A call that was refused. `problem` is undefined where something else than Parley responded. */
export class ParleyError extends Error {
  readonly status: number
  readonly problem: Problem | undefined

  constructor({ status, problem, url }: { status: number; problem: Problem | undefined; url: string }) {
    const text = problem === undefined ? `${status}` : (problem.detail ?? problem.title)
    super(`${new URL(url).pathname} was refused: ${text}`)
    this.name = 'ParleyError'
    this.status = status
    this.problem = problem
  }

  get code(): ProblemCode | undefined {
    return this.problem?.code
  }
}

/** The result of a call of openapi-fetch. */
interface Called<T> {
  data?: T
  error?: unknown
  response: Response
}

/** The body of a call that has to succeed. Throws a {@link ParleyError} where it was refused. */
export async function succeeded<T>(call: Promise<Called<T>>): Promise<T> {
  const { data, error, response } = await call
  if (data !== undefined && response.ok) return data
  throw new ParleyError({ status: response.status, problem: problemIn(error), url: response.url })
}

/** A refusal from its response, whose body is not read yet. */
export async function refusalOf(response: Response): Promise<ParleyError> {
  const body: unknown = await response.json().catch(() => undefined)
  return new ParleyError({ status: response.status, problem: problemIn(body), url: response.url })
}

function problemIn(body: unknown): Problem | undefined {
  const isProblem = typeof body === 'object' && body !== null && 'code' in body && 'title' in body
  return isProblem ? (body as Problem) : undefined
}
