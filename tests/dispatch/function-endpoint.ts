import type { ServerResponse } from 'node:http'
import { chance } from '@parley/local/simulator/behaviours'
import { listen } from '@parley/local/testing/service-under-test'
import { z } from 'zod'
import { type Place, receiptOf } from './conversations.ts'

const SEED = 17
/** Of all calls: those that get 500, and those that are cut before and after they have an effect. */
const [REFUSED, CUT_BEFORE, CUT_AFTER] = [0.03, 0.04, 0.05]

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

/** The functions of the assistant, which fail for 5% of the calls. */
export interface FunctionEndpoint {
  url: string
  readonly calls: readonly FunctionCall[]
  close(): Promise<void>
}

/**
 * Starts an endpoint that writes down every call. A call whose id it knows gets the same response without a second
 * effect, as our documentation asks of receivers.
 */
export async function startFunctionEndpoint(): Promise<FunctionEndpoint> {
  const calls: FunctionCall[] = []
  const statuses = new Map<string, number>()
  const take = (id: string, place: Place, res: ServerResponse) => {
    const call: FunctionCall = { ...place, id, began: Date.now(), ended: Infinity, status: undefined }
    calls.push(call)
    const drawn = chance(SEED, calls.length)
    res.once('close', () => {
      call.ended = Date.now()
      if (!res.writableFinished) call.status = undefined
    })
    if (drawn >= REFUSED && drawn < CUT_BEFORE) return res.destroy()
    const status = statuses.get(id) ?? (drawn < REFUSED ? 500 : 200)
    statuses.set(id, status)
    if (drawn >= CUT_BEFORE && drawn < CUT_AFTER) return res.destroy()
    call.status = status
    return res.writeHead(status, { 'content-type': 'text/plain' }).end(receiptOf(place))
  }
  const { url, close } = await listen((req, res) => {
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => {
      const place = argumentsSchema.parse(JSON.parse(Buffer.concat(chunks).toString()))
      take(String(req.headers['idempotency-key']), place, res)
    })
  })
  return { url, calls, close }
}

/** What became of the functions, each step of a conversation counted once. */
export interface FunctionCounts {
  /** Steps that were called under one id and got a response. */
  once: number
  /** Steps that were called under more than one id: their effect may be there twice. */
  doubled: number
  /** Steps that were not called, or whose caller never got a response. */
  missing: number
  /** Calls that began while another one of the same id went on. */
  overlapping: number
  /** Ids that came with the arguments of different steps. */
  changed: number
  threadsOutOfOrder: number
  /** Calls that came again under the id of an earlier one, which has no second effect. */
  repeated: number
}

/** Counts the calls, which are in the order in which they came, against the steps that were planned. */
export function countCalls(calls: readonly FunctionCall[], planned: readonly Place[]): FunctionCounts {
  const byPlace = Map.groupBy(calls, keyOf)
  const byId = Map.groupBy(calls, ({ id }) => id)
  const idsOf = (place: Place) => new Set(byPlace.get(keyOf(place))?.map(({ id }) => id)).size
  const gotResponse = (place: Place) =>
    byPlace.get(keyOf(place))?.some(({ status }) => status !== undefined) === true
  const missing = planned.filter((place) => !gotResponse(place)).length
  return {
    once: planned.filter((place) => gotResponse(place) && idsOf(place) === 1).length,
    doubled: planned.filter((place) => idsOf(place) > 1).length,
    missing,
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
