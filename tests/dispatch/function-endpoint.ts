import type { ServerResponse } from 'node:http'
import { chance } from '@parley/local/simulator/behaviours'
import { listen } from '@parley/local/testing/service-under-test'
import { z } from 'zod'
import { LOOK_UP, type Place, REPEATABLE, receiptOf, STEPS } from './conversations.ts'
import type { StoredCall } from './store.ts'

const SEED = 17
/** Of all calls: those that get 500, those that are cut before and after they have an effect, and those that are late. */
const [REFUSED, CUT_BEFORE, CUT_AFTER, LATE] = [0.03, 0.04, 0.05, 0.055]
/** Longer than a call may take. */
const LATE_MS = 20_000

const argumentsSchema = z.strictObject({ thread: z.int(), sequence: z.int() })

/** A call as it came; times in milliseconds since the epoch. */
export interface FunctionCall extends Place {
  /** Its `Idempotency-Key`. */
  id: string
  began: number
  /** When it was responded to, or the caller went. */
  ended: number
  /** Undefined when the caller got no response. */
  status: number | undefined
}

/** The functions of the assistant, which fail for 5% of the calls, and come too late for half a percent. */
interface FunctionEndpoint {
  url: string
  readonly calls: readonly FunctionCall[]
  /** How often each step had its effect, by its place. */
  readonly ledger: Ledger
  close(): Promise<void>
}

type Ledger = ReadonlyMap<string, number>

/**
 * Starts an endpoint that writes down every call and every effect. It knows no `Idempotency-Key`, but for the last step,
 * whose operation takes one; the first step has its effect once however often it is called. What is looked up has none.
 */
export async function startFunctionEndpoint(): Promise<FunctionEndpoint> {
  const calls: FunctionCall[] = []
  const ledger = new Map<string, number>()
  const done = new Set<string>()
  const effect = (id: string, place: Place) => {
    const name = STEPS[place.sequence]
    const once = name === 'check' ? keyOf(place) : name === 'confirm' ? id : undefined
    if (once !== undefined && done.has(once)) return
    if (once !== undefined) done.add(once)
    ledger.set(keyOf(place), (ledger.get(keyOf(place)) ?? 0) + 1)
  }
  const take = (id: string, place: Place, res: ServerResponse) => {
    const call: FunctionCall = { ...place, id, began: Date.now(), ended: Infinity, status: undefined }
    calls.push(call)
    const drawn = chance(SEED, calls.length)
    res.once('close', () => {
      call.ended = Date.now()
      if (!res.writableFinished) call.status = undefined
    })
    if (drawn >= REFUSED && drawn < CUT_BEFORE) return res.destroy()
    call.status = drawn < REFUSED ? 500 : 200
    if (call.status === 200) effect(id, place)
    if (drawn >= CUT_BEFORE && drawn < CUT_AFTER) return res.destroy()
    const { status } = call
    const respond = () => res.writeHead(status, { 'content-type': 'text/plain' }).end(receiptOf(place))
    if (drawn >= CUT_AFTER && drawn < LATE) return void setTimeout(respond, LATE_MS).unref()
    return respond()
  }
  const { url, close } = await listen((req, res) => {
    const { pathname, searchParams } = new URL(req.url ?? '', 'http://endpoint')
    if (pathname === `/${LOOK_UP}`) {
      const [thread, sequence] = [searchParams.get('thread'), searchParams.get('sequence')].map(Number)
      const place = argumentsSchema.parse({ thread, sequence })
      return void res.writeHead(200, { 'content-type': 'text/plain' }).end(receiptOf(place))
    }
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => {
      const place = argumentsSchema.parse(JSON.parse(Buffer.concat(chunks).toString()))
      take(String(req.headers['idempotency-key']), place, res)
    })
  })
  return { url, calls, ledger, close }
}

/** What became of the functions, each step of a conversation counted once. */
export interface FunctionCounts {
  /** Steps whose effect is there once, by the ledger of the endpoint. */
  once: number
  /** Steps whose effect is there twice. */
  doubled: number
  /** Steps whose effect is not there, which the model reads as failed or uncertain. */
  undone: number
  /** Steps whose model reads nothing of them, or something else than the ledger says. */
  missing: number
  /** Steps of which the model reads that they may have been done. */
  uncertain: number
  /** Calls that began while another one of the same id went on. */
  overlapping: number
  /** Ids that came with the arguments of different steps. */
  changed: number
  threadsOutOfOrder: number
  /** Calls that came again under the id of an earlier one. */
  repeated: number
}

/** Counts effects and calls, which are in the order in which they came, against the steps that were planned. */
export function countCalls(
  {
    calls,
    ledger,
    results,
  }: { calls: readonly FunctionCall[]; ledger: Ledger; results: readonly StoredCall[] },
  planned: readonly Place[],
): FunctionCounts {
  const byId = Map.groupBy(calls, ({ id }) => id)
  const known = new Map(
    results
      .filter(({ tool }) => tool !== LOOK_UP)
      .map(({ tool, args, result }) => [
        keyOf(argumentsSchema.parse(JSON.parse(args))),
        result && { ...result, isRepeatable: tool === REPEATABLE },
      ]),
  )
  const effectsOf = (place: Place) => ledger.get(keyOf(place)) ?? 0
  const count = (isTrue: (place: Place) => boolean) => planned.filter(isTrue).length
  const isKnown = (place: Place) => {
    const result = known.get(keyOf(place))
    if (result === undefined) return false
    if (result.state === 'done') return effectsOf(place) > 0
    // An earlier attempt may have been done and its answer lost: whoever reads that it failed may make it again.
    return result.uncertain === true || result.isRepeatable || effectsOf(place) === 0
  }
  return {
    once: count((place) => effectsOf(place) === 1),
    doubled: count((place) => effectsOf(place) > 1),
    undone: count((place) => effectsOf(place) === 0 && isKnown(place)),
    missing: count((place) => !isKnown(place)),
    uncertain: count((place) => known.get(keyOf(place))?.uncertain === true),
    overlapping: [...byId.values()].reduce((sum, same) => sum + overlapsOf(same), 0),
    changed: [...byId.values()].filter((same) => new Set(same.map(keyOf)).size > 1).length,
    threadsOutOfOrder: threadsOutOfOrder(calls),
    repeated: calls.length - byId.size,
  }
}

function overlapsOf(same: readonly FunctionCall[]): number {
  return same.filter(({ began }, at) => same.slice(0, at).some(({ ended }) => ended > began)).length
}

/** Threads in which a step was called for the first time after a later one. */
function threadsOutOfOrder(calls: readonly FunctionCall[]): number {
  const seen = new Set<string>()
  const highest = new Map<number, number>()
  const wrong = new Set<number>()
  for (const call of calls) {
    if (seen.has(keyOf(call))) continue
    seen.add(keyOf(call))
    if (call.sequence < (highest.get(call.thread) ?? -1)) wrong.add(call.thread)
    else highest.set(call.thread, call.sequence)
  }
  return wrong.size
}

const keyOf = ({ thread, sequence }: Place): string => `${thread}:${sequence}`
