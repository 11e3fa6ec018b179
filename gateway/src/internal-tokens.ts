import { clockSetting, wasClockSet } from '@parley/shared/clock-setting'
import { type Caller, INTERNAL_TOKEN_SECONDS, type InternalSigner } from '@parley/shared/internal-token'
import type { Upstream } from './routes.ts'

/** The tokens that speak for one caller, by the service they are made out to. */
export type InternalTokens = Partial<Record<Upstream, { token: string; renewAt: number; clock: number }>>

const RENEWAL_MARGIN_SECONDS = 15

/** The token for one service out of `held`, made anew 15 s before it would end, or when the clock was set. */
export function internalTokenFor(
  audience: Upstream,
  { caller, held, signer }: { caller: Caller; held: InternalTokens; signer: Pick<InternalSigner, 'sign'> },
): string {
  const now = performance.now()
  const known = held[audience]
  if (known !== undefined && now < known.renewAt && !wasClockSet(known.clock)) return known.token
  const token = signer.sign({ audience, caller })
  const renewAt = now + (INTERNAL_TOKEN_SECONDS - RENEWAL_MARGIN_SECONDS) * 1000
  held[audience] = { token, renewAt, clock: clockSetting() }
  return token
}
