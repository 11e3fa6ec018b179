import { z } from 'zod'
import { type SimulatedNumber, sendsUrl } from '../../simulator/client.ts'
import type { LedgerSend } from './account.ts'

const PAGE = 10_000
const REQUEST_MS = 10_000

const page = z.looseObject({
  data: z.array(z.looseObject({ at: z.iso.datetime(), to: z.string(), type: z.string() })),
  next: z.int(),
})

/** The templates that the simulator took from a number, in order. */
export interface Ledger {
  readonly sends: readonly LedgerSend[]
  /** Reads what is new. */
  read(): Promise<void>
}

/** The ledger of a number, from its first send on. */
export function createLedger(number: SimulatedNumber): Ledger {
  const sends: LedgerSend[] = []
  let after = 0
  const readPage = async (): Promise<boolean> => {
    const signal = AbortSignal.timeout(REQUEST_MS)
    const response = await fetch(sendsUrl(number, { after, limit: PAGE }), { signal })
    if (!response.ok) throw new Error(`The simulator responded with ${response.status}`)
    const { data, next } = page.parse(await response.json())
    after = next
    const templates = data.filter(({ type }) => type === 'template')
    sends.push(...templates.map(({ to, at }) => ({ to, at: Date.parse(at) })))
    return data.length === PAGE
  }
  return {
    sends,
    async read() {
      while (await readPage());
    },
  }
}
