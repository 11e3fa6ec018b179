import { z } from 'zod'
import { connectRpc } from '../dispatch/lines.ts'
import type { OwnSystem } from '../dispatch/own-system.ts'
import { registerWorkspace } from '../dispatch/workspace.ts'
import type { LoadTarget } from './load-requests.ts'

const CHANNEL = 'end-to-end'

/** Makes a workspace with an API token and a channel whose sends go to `callbackUrl`. */
export async function makeParleyTarget(
  { system }: OwnSystem,
  callbackUrl: string,
  name = 'bench',
): Promise<LoadTarget> {
  const workspace = await registerWorkspace(system.gatewayUrl, name)
  await connectRpc({ workspace, callbackUrl, id: 1, extId: CHANNEL })
  const made = await workspace.call('POST', '/api/auth/tokens', { name, role: 'WORKSPACE_ADMIN' })
  const { token } = z.looseObject({ token: z.string() }).parse(made)
  return { api: 'parley', port: Number(new URL(system.gatewayUrl).port), token, channel: CHANNEL }
}
