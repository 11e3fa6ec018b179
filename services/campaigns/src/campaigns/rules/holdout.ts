import { createHash } from 'node:crypto'

const UNIT = 2 ** 32

/** True if a person is in a campaign's holdout of so many percent: the same at each call, and evenly spread. */
export function isInHoldout(campaign: string, person: string, percent: number): boolean {
  if (percent <= 0) return false
  const digest = createHash('sha256').update(`${campaign}\0${person}`).digest()
  return digest.readUInt32BE(0) / UNIT < percent / 100
}
