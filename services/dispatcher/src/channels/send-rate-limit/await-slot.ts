import type { RateKeys, SendRateLimit } from './send-rate-limit.ts'

/** A slot that is used later than this would make up for lost time, and so break the rate. */
export const SLOT_LATE_MS = 40
/** A send is claimed this long before its slot, or a database that takes its time would make it late. */
export const CLAIM_AHEAD_MS = 250

/** Waits for the slot of a claimed send; where claiming took so long that it has gone by, for another one. */
export async function awaitSlot(options: {
  /** Milliseconds since the epoch. */
  at: number
  keys: RateKeys
  sendRateLimit: Pick<SendRateLimit, 'anotherSlot'>
  now(): number
  mayLeave(): boolean
}): Promise<void> {
  const { keys, sendRateLimit, now, mayLeave } = options
  let { at } = options
  await pause(at - now())
  while (now() - at > SLOT_LATE_MS && mayLeave()) {
    at = (await sendRateLimit.anotherSlot(keys, at)).at
    await pause(at - now())
  }
}

async function pause(milliseconds: number): Promise<void> {
  if (milliseconds > 0) await new Promise((resolve) => setTimeout(resolve, milliseconds))
}
