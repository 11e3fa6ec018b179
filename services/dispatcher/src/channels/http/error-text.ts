import { jsonOrUndefined } from '@parley/shared/parse-json'
import { z } from 'zod'
import type { Outcome } from '../../message/outcome.ts'
import type { Call, HttpResponse } from './http-client.ts'
import { presentable } from './presentable.ts'

/** Shorter values of headers and parameters are no secrets. */
const SHORTEST_SECRET = 6

/** A longer answer is shown as it is: what says an error is short. */
const LONGEST_ERROR = 64 * 1024

/** As many APIs write errors. */
const commonError = z.object({ error: z.object({ message: z.string() }) })

/**
 * The outcome of a call that failed, with what the other side said of it: 500 bytes at most, without anything that the
 * call itself carried in headers, parameters and body. `said` is what it said, where that is known.
 */
export function withErrorText<O extends Outcome>(
  outcome: O,
  { body }: Pick<HttpResponse, 'body'>,
  call: Pick<Call, 'url' | 'headers' | 'body'> & { said?: string | undefined },
): O {
  if (outcome.kind === 'accepted') return outcome
  const prompt = typeof call.body === 'string' ? textsIn(jsonOrUndefined(call.body)) : []
  const error = presentable(call.said ?? textOf(body), { key: secretsOf(call), prompt })
  return error === '' ? outcome : { ...outcome, error }
}

function textOf(body: string): string {
  if (body.length > LONGEST_ERROR) return body
  const known = commonError.safeParse(jsonOrUndefined(body))
  return known.success ? known.data.error.message : body
}

function secretsOf({ url, headers }: Pick<Call, 'url' | 'headers'>): string[] {
  const values = Object.entries(headers).flatMap(([name, value]) =>
    name === 'content-type' ? [] : value.split(' '),
  )
  return [...secretsInUrl(url), ...values].filter(({ length }) => length >= SHORTEST_SECRET)
}

const MAX_TEXTS = 1_000

/** All texts of what was sent: they are a person's, or of those who write to them. */
function textsIn(value: unknown): string[] {
  const texts: string[] = []
  const left = [value]
  while (left.length > 0 && texts.length < MAX_TEXTS) {
    const one = left.pop()
    if (typeof one === 'string') texts.push(one)
    else if (typeof one === 'object' && one !== null) left.push(...Object.values(one))
  }
  return texts
}

/** Returns the parts of a URL that must not be shown: user information, and the values in its query. */
export function secretsInUrl(text: string): string[] {
  if (!URL.canParse(text)) return []
  const { username, password, searchParams } = new URL(text)
  const given = [...searchParams].map(([name, value]) => (value === '' ? name : value))
  return [username, password, ...given].filter((one) => one !== '')
}
