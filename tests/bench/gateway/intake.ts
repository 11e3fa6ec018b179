// Messages by the public door, beside the same posted to the webhook service itself.
import { integer, parseConfig } from '@parley/shared/config'
import { z } from 'zod'
import { asFastAsPossible } from '../../lab/load/http-lines.ts'
import { reportComparison, shown } from '../../lab/report/results.ts'
import { leaveLastCore } from '../../lab/system/processes.ts'
import { startServiceProcesses } from '../../lab/system/service-processes.ts'
import { register } from '../../lab/system/workspace.ts'
import { messageRequests } from '../load-requests.ts'

const size = z.object({
  DURATION: integer({ min: 1, max: 60 }).default(5).describe('Seconds of one measurement'),
  CONNECTIONS: integer({ min: 1, max: 512 }).default(64).describe('Requests under way at a time'),
  RUNS: integer({ min: 1, max: 99 }).default(3).describe('How often each is measured, in turns'),
})
const registration = z.object({
  accessToken: z.string(),
  _id: z.number(),
  role: z.number(),
  account: z.object({ username: z.string(), name: z.string(), profile: z.number() }),
  workspace: z.object({ _id: z.number(), name: z.string(), namespace: z.string(), host: z.string() }),
})
const { DURATION, CONNECTIONS, RUNS } = parseConfig(size, process.env)
const LEAST = 0.5

/** Where messages are posted, and the token that it takes. */
interface Door {
  port: number
  token(): string
}

leaveLastCore()
const system = await startServiceProcesses({ name: 'public' })
try {
  const doors = await startAll()
  const perSecond: Record<keyof typeof doors, number[]> = { gateway: [], webhook: [] }
  for (let turn = -1; turn < RUNS; turn++) {
    for (const door of ['webhook', 'gateway'] as const) {
      const measured = await load(doors[door])
      // The first turn warms up.
      if (turn >= 0) perSecond[door].push(measured)
    }
  }
  const { gateway, webhook } = perSecond
  const unit = '/s'
  console.log(`${shown(gateway, { unit })} through the gateway, ${shown(webhook, { unit })} without`)
  reportComparison({
    row: 'intake through the gateway, beside intake',
    ...{ ours: gateway, others: webhook, unit, reach: { least: LEAST } },
  })
} finally {
  await system.stop()
}

/** The system as far as messages need it. */
async function startAll(): Promise<Record<'gateway' | 'webhook', Door>> {
  const IDENTITY_URL = (await system.startService('identity')).url
  const CONFIGURATION_URL = (await system.startService('configuration', { IDENTITY_URL })).url
  const webhook = await system.startService('webhook', { IDENTITY_URL, CONFIGURATION_URL })
  const gateway = await system.startService(
    'gateway',
    // Nothing here is asked of the dispatcher.
    { IDENTITY_URL, CONFIGURATION_URL, WEBHOOK_URL: webhook.url, DISPATCHER_URL: CONFIGURATION_URL },
    { pinned: true },
  )
  const person = { email: 'bench@example.com', password: 'p', namespace: 'bench' }
  const { accessToken, _id, role, account, workspace } = registration.parse(
    await register(gateway.url, person),
  )
  const caller = {
    account: { _id, username: account.username, name: account.name, profile: account.profile, context: {} },
    workspace,
    role: { _id: role, name: 'WORKSPACE_ADMIN', version: 1 },
  }
  return {
    gateway: { port: gateway.port, token: () => accessToken },
    webhook: { port: webhook.port, token: () => system.token('webhook', caller) },
  }
}

async function load({ port, token }: Door): Promise<number> {
  await system.emptyQueues()
  const until = performance.now() + DURATION * 1_000
  const { perSecond, failures } = await asFastAsPossible({
    ...{ port, connections: CONNECTIONS, request: messageRequests(token()) },
    goesOn: () => performance.now() < until,
  })
  if (failures > 0) throw new Error(`${failures} requests to port ${port} failed`)
  return perSecond
}
