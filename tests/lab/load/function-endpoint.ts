import type { ServerResponse } from 'node:http'
import { chance } from '@parley/local/simulator/behaviours'
import { listen } from '@parley/local/testing/service-under-test'
import { keyOf, LOOK_UP, type Place, placeSchema, receiptOf, STEPS } from './conversations.ts'

const SEED = 17
/** Of all calls: those that get 500, those that are cut before and after they have an effect, and those that are late. */
const [REFUSED, CUT_BEFORE, CUT_AFTER, LATE] = [0.03, 0.04, 0.05, 0.055]
/** Longer than a call may take. */
const LATE_MS = 20_000

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

export type Ledger = ReadonlyMap<string, number>

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
      const place = placeSchema.parse({ thread, sequence })
      return void res.writeHead(200, { 'content-type': 'text/plain' }).end(receiptOf(place))
    }
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => {
      const place = placeSchema.parse(JSON.parse(Buffer.concat(chunks).toString()))
      take(String(req.headers['idempotency-key']), place, res)
    })
  })
  return { url, calls, ledger, close }
}
