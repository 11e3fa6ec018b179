import type { PlannedMessage } from '@parley/local/demo/demo-plan'
import { type Posted, postThreads } from '@parley/local/demo/post-threads'
import { registerWebhook } from '@parley/local/simulator/client'
import type { Workspace } from '../system/workspace.ts'

const RPC_EXT_ID = 'rpc-line'

/** Configures a channel that sends from a number to the simulator, which posts its statuses. */
export async function connectNumber(options: {
  workspace: Workspace
  simulatorUrl: string
  id: number
  accessToken?: string
  /** The agent that answers messages without an answer; `echo` when not given. */
  agent?: { type: string; assistantId: number }
}): Promise<string> {
  const { workspace, simulatorUrl, id, accessToken = 'token', agent } = options
  const extId = numberExtId(id)
  const phoneNumberId = phoneNumberIdOf(id)
  const appSecret = `secret of ${extId}`
  const config = {
    phoneNumberId,
    accessToken,
    apiUrl: new URL('/v23.0', simulatorUrl).href,
    appSecret,
    ...(agent === undefined ? {} : { assistantId: agent.assistantId }),
  }
  await workspace.call('PUT', `/rest/channels/${id}`, {
    name: extId,
    description: '',
    extId,
    hook: 'whatsapp',
    callback: 'whatsapp',
    handlerUrl: `native:agents/${agent?.type ?? 'echo'}`,
    config,
  })
  await registerWebhook({ simulatorUrl, phoneNumberId, appSecret }, workspace.providerUrl(extId))
  return extId
}

/** Configures a channel whose answers go to an RPC endpoint; the one that `planThread` posts to when it has no other name. */
export async function connectRpc(options: {
  workspace: Workspace
  callbackUrl: string
  id: number
  extId?: string
}): Promise<void> {
  const { workspace, callbackUrl, id, extId = RPC_EXT_ID } = options
  await workspace.call('PUT', `/rest/channels/${id}`, {
    name: 'RPC',
    description: '',
    extId,
    hook: 'whatsapp',
    callback: 'rpc',
    handlerUrl: 'native:agents/echo',
    config: { callbackUrl },
  })
}

const numberExtId = (id: number): string => `number-${id}`
export const phoneNumberIdOf = (id: number): string => String(1_000_000 + id)

/** A thread's messages, in the order in which they must arrive; from a number's line, or by RPC without one. */
export function planThread(options: {
  run: string
  thread: number
  messages: number
  number?: number
}): PlannedMessage[] {
  const { run, thread, messages, number } = options
  const extId = number === undefined ? RPC_EXT_ID : numberExtId(number)
  return Array.from({ length: messages }, (_, sequence) => {
    const args = { template: 'order_update', language: 'en', variables: [String(thread), String(sequence)] }
    return {
      thread,
      sequence,
      key: `${run}-${thread}-${sequence}`,
      body: {
        extId,
        user: { phone: `+55119${String(thread).padStart(8, '0')}` },
        thread: { extId: `${run}-${thread}` },
        answer: { functions: [{ name: 'sendTemplate', args }] },
      },
    }
  })
}

/** A thread for each of these sizes, from the number's line that is named, under a run of their own. */
export function planThreads(sizes: ReadonlyArray<{ size: number; number?: number }>): PlannedMessage[][] {
  const run = Date.now().toString(36)
  return sizes.map(({ size, ...line }, thread) => planThread({ run, thread, messages: size, ...line }))
}

/** The sizes of as many threads as so many messages need. */
export function spread(messages: number, perThread: number): number[] {
  const threads = Math.ceil(messages / perThread)
  return Array.from({ length: threads }, (_, at) => Math.min(perThread, messages - at * perThread))
}

/** Posts all of the threads' messages as fast as they are answered, so many at the same time. */
export const postAll = (
  workspace: Workspace,
  options: { threads: PlannedMessage[][]; inFlight: number },
): Promise<Posted[]> => postThreads({ ...options, gateway: workspace, onAccepted: () => {} })
