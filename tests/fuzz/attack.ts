import { exchange } from './exchange.ts'
import { bytesOf, type FuzzCase, filled } from './fuzz-case.ts'
import { type Failure, judge } from './judge.ts'
import type { FuzzWorld } from './world.ts'

/** What came of one case. */
interface Attacked {
  statuses: number[]
  failures: Failure[]
}

/** Sends a case and judges what comes back. */
export async function attack(one: FuzzCase, world: FuzzWorld): Promise<Attacked> {
  const { bytes, requestId } = bytesOf(one, world.fill)
  const came = await exchange(world.url, bytes, { method: one.method, delivery: one.delivery })
  const target = filled(one.target, world.fill)
  const forbidden = [...world.hidden, ...world.forbiddenTo(one.caller)]
  const failures = judge({ one, target, requestId, forbidden }, came)
  return { statuses: came.responses.map(({ status }) => status), failures }
}

/** Names a fault: two of the same name have the same cause, as far as one can tell from outside. */
export function signatureOf({ method, target, kind, raw }: FuzzCase, { oracle, why }: Failure): string {
  const what =
    raw === undefined ? `${method} ${target.split('?', 1)[0]?.replaceAll(/\{\{[^}]*\}\}/g, 'x')}` : kind
  return `${oracle}: ${what.slice(0, 60)}: ${why.replaceAll(/[\da-f]{8}-[\da-f-]{27}|\d+/g, '#').slice(0, 60)}`
}
