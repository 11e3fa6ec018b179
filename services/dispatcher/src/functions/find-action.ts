import type { Replica } from '@parley/shared/config-replica/replica'
import { defined } from '@parley/shared/defined'
import { actionDocument, assistantDocument, jobDocument } from '@parley/shared/documents/assistant'
import { openSecrets, type SecretBox } from '@parley/shared/sealed-value'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import type { Channel } from '../channels/channels.ts'
import type { SpecReader } from './spec-reader.ts'

const MAX_ACTIONS = 100
const MAX_KNOWN_SPECS = 10_000
const FRESH_MS = 1_000

const storedAssistant = assistantDocument.stored.pick({ actions: true, job: true })
const storedJob = jobDocument.stored.pick({ actions: true })
const storedAction = actionDocument.stored
  .pick({ _id: true, specType: true, moduleUrl: true, spec: true })
  .extend({ version: z.number() })

export type Action = z.output<typeof storedAction> & { key: string; workspace: number }

type FoundAction =
  | { kind: 'found'; action: Action }
  /** It is not known if this action has the operation: its spec takes too long to read. No action before it has it. */
  | { kind: 'slow'; action: Action }
  /** No action has the operation; `badSpec` names one whose spec could not be read. */
  | { kind: 'unknown'; badSpec?: string }

type SpecOperations =
  | { kind: 'operations'; ids: ReadonlySet<string> }
  | { kind: 'bad_spec'; reason: string }
  | { kind: 'too_slow' }

/**
 * Finds the action that has an operation among those of the channel's assistant and of its job, in their order, 100
 * at most. What the replicas don't know is looked for in configuration. Rejects with `unavailable`.
 */
export type FindAction = (
  channel: Channel,
  operationId: string,
  options?: { notBefore?: number | undefined },
) => Promise<FoundAction>

export function createFindAction(options: {
  replica: Pick<Replica, 'find'>
  secrets: Pick<SecretBox, 'open'>
  specs: Pick<SpecReader, 'ask'>
}): FindAction {
  const { replica, secrets, specs } = options
  const known = new LRUCache<string, ReadonlySet<string>>({ max: MAX_KNOWN_SPECS })

  const actionsOf = async ({ workspace, config }: Channel, needs: { notBefore?: number }) => {
    if (typeof config.assistantId !== 'number') return []
    const one = async (resource: 'assistant' | 'jobs' | 'actions', id: number) =>
      (await replica.find({ resource, workspace, id }, needs))[0]
    const assistant = storedAssistant.safeParse(await one('assistant', config.assistantId)).data
    const job =
      typeof assistant?.job === 'number'
        ? storedJob.safeParse(await one('jobs', assistant.job)).data
        : undefined
    const ids = [...new Set([...(assistant?.actions ?? []), ...(job?.actions ?? [])])].slice(0, MAX_ACTIONS)
    const documents = await Promise.all(ids.map((id) => one('actions', id)))
    return documents.flatMap((document): Action[] => {
      const { data } = storedAction.safeParse(openSecrets(document, secrets, workspace))
      return data === undefined
        ? []
        : [{ ...data, workspace, key: `${workspace}/${data._id}/${data.version}` }]
    })
  }
  const operationsOf = async ({ key, workspace, spec, specType }: Action): Promise<SpecOperations> => {
    if (specType !== 'openapi3-yaml') return { kind: 'bad_spec', reason: `is of type ${specType}` }
    const found = known.get(key)
    if (found !== undefined) return { kind: 'operations', ids: found }
    const answer = await specs.ask({ kind: 'operations', key, workspace, spec })
    if (answer.kind === 'bad_spec') return answer
    if (answer.kind !== 'operations') return { kind: 'too_slow' }
    const operations = new Set(answer.ids)
    known.set(key, operations)
    return { kind: 'operations', ids: operations }
  }
  const findAmong = async (actions: Action[], operationId: string): Promise<FoundAction> => {
    let badSpec: string | undefined
    for (const action of actions) {
      const operations = await operationsOf(action)
      if (operations.kind === 'too_slow') return { kind: 'slow', action }
      if (operations.kind === 'bad_spec') badSpec ??= `The spec of action ${action._id} ${operations.reason}.`
      else if (operations.ids.has(operationId)) return { kind: 'found', action }
    }
    return { kind: 'unknown', ...defined({ badSpec }) }
  }
  return async (channel, operationId, { notBefore = 0 } = {}) => {
    const found = await findAmong(await actionsOf(channel, { notBefore }), operationId)
    if (found.kind !== 'unknown') return found
    // Someone may have configured it a moment ago.
    return findAmong(await actionsOf(channel, { notBefore: Date.now() - FRESH_MS }), operationId)
  }
}
