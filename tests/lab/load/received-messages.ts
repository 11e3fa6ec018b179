import { readVariables } from '@parley/local/demo/demo-plan'
import type { Arrival } from '@parley/local/demo/watch-simulator'
import { listen } from '@parley/local/testing/service-under-test'
import { z } from 'zod'
import { placeOf } from './conversations.ts'

const PAGE = 10_000
const REQUEST_MS = 10_000

const page = z.looseObject({
  data: z.array(
    z.looseObject({
      at: z.iso.datetime(),
      to: z.string(),
      phoneNumberId: z.string(),
      variables: z.array(z.string()).default([]),
      text: z.string().optional(),
    }),
  ),
  next: z.int(),
})

/** A send that the simulator took. */
interface SimulatorArrival extends Arrival {
  to: string
  phoneNumberId: string
}

/** The messages that the simulator has taken, in order, of all numbers. */
export interface SimulatorLog {
  readonly received: readonly SimulatorArrival[]
  /** How many were neither of a plan's templates nor a text with a receipt. */
  unreadable(): number
  /** Reads what is new. */
  read(): Promise<void>
}

export function createSimulatorLog(simulatorUrl: string): SimulatorLog {
  const received: SimulatorArrival[] = []
  let after = 0
  let unreadable = 0
  const readPage = async () => {
    const url = new URL(`/simulator/sends?after=${after}&limit=${PAGE}`, simulatorUrl)
    const response = await fetch(url, { signal: AbortSignal.timeout(REQUEST_MS) })
    const { data, next } = page.parse(await response.json())
    after = next
    for (const { at, to, phoneNumberId, variables, text } of data) {
      const place = text === undefined ? readVariables(variables) : placeOf(text)
      if (place === undefined) unreadable++
      else received.push({ ...place, to, phoneNumberId, at: Date.parse(at) })
    }
    return data.length > 0
  }
  return {
    received,
    unreadable: () => unreadable,
    async read() {
      while (await readPage());
    },
  }
}

const call = z.looseObject({ id: z.string(), variables: z.array(z.string()) })

/** An RPC endpoint that knows a call it has taken before by its id, as our documentation asks of receivers. */
export interface RpcSink {
  url: string
  /** The messages that it took, each id once, in order. */
  readonly received: readonly Arrival[]
  /** How many calls came again with the id of one that it had taken. */
  repeats(): number
  close(): Promise<void>
}

export async function startRpcSink(): Promise<RpcSink> {
  const received: Arrival[] = []
  const known = new Set<string>()
  let repeats = 0
  const take = (body: string) => {
    const { id, variables } = call.parse(JSON.parse(body))
    const place = readVariables(variables)
    if (known.has(id)) repeats++
    else if (place !== undefined) received.push({ ...place, at: Date.now() })
    known.add(id)
  }
  const { url, close } = await listen((req, res) => {
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => {
      take(Buffer.concat(chunks).toString())
      res.writeHead(200).end()
    })
  })
  return { url, received, repeats: () => repeats, close }
}
